"""Base views of the control and chat APIs: strict input, access and JSON errors."""

import json
from collections.abc import Sequence
from typing import Any, NoReturn

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.permissions import AllowAny, BasePermission
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from mockllm_site.kit.api.errors import ApiError, answer_error
from mockllm_site.kit.api.shapes import Shape
from mockllm_site.kit.testcase import refuse_open_test_transaction


def decode_json(body: bytes) -> Any:
    """Return parsed JSON. Raise ApiError 400 for invalid UTF-8 or JSON, half a surrogate pair,
    duplicate keys, too deep nesting and too large numbers."""
    try:
        value = json.loads(
            body.decode("utf-8"), object_pairs_hook=_unique_keys, parse_constant=_refuse_constant
        )
        # Refuses numbers that JSON does not have, and lone surrogates.
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise ApiError(400, f"Expected UTF-8 text, byte {error.start + 1} is not.") from None
    except UnicodeEncodeError:
        raise ApiError(400, "A text holds half of a surrogate pair.") from None
    except json.JSONDecodeError as error:
        position = f"line {error.lineno} column {error.colno}"
        raise ApiError(400, f"Not valid JSON, {position}: {error.msg}.") from None
    except RecursionError:
        raise ApiError(400, "The JSON is nested too deep.") from None
    except ValueError:
        raise ApiError(400, "The JSON holds a number too large to read.") from None
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dict; raise ApiError 400 if a key is given twice."""
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ApiError(400, f"{key!r}: this key is given twice.")
        result[key] = value
    return result


def _refuse_constant(name: str) -> NoReturn:
    """Raise ApiError 400 for NaN and Infinity."""
    raise ApiError(400, f"Not valid JSON: {name} is not a JSON number.")


class JsonAlways(BaseContentNegotiation):
    """Responds with JSON regardless of the Accept header."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the first renderer, whatever the client accepts."""
        return renderers[0], renderers[0].media_type


class JsonView(APIView):
    """A base view with JSON. `read_body` and `query` refuse unknown keys and wrong types."""

    # Authentication decides; views may add permissions.
    permission_classes: Sequence[type[BasePermission]] = (AllowAny,)
    content_negotiation_class = JsonAlways
    renderer_classes = (JSONRenderer,)
    # Only for the OpenAPI document; `read_json` reads the bodies.
    parser_classes = (JSONParser,)
    http_method_names: Sequence[str] = ("get", "head", "post", "put", "delete")

    def get_exception_handler(self) -> Any:
        return answer_error

    def decode(self, body: bytes) -> Any:
        """Parse a body; the control API overrides this."""
        return decode_json(body)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raise OpenTestTransaction if a test's transaction is open elsewhere; check access."""
        refuse_open_test_transaction()
        super().initial(request, *args, **kwargs)

    def has_body(self) -> bool:
        """Return True if the headers announce a body: Content-Length or Transfer-Encoding."""
        meta = self.request._request.META
        return meta.get("CONTENT_LENGTH") not in (None, "", "0") or "HTTP_TRANSFER_ENCODING" in meta

    def read_json(self) -> Any:
        """Return the parsed JSON body. Raise UnsupportedMediaType for another content type than
        JSON (a page of another origin cannot send JSON without a preflight), ApiError 413 if it is
        too large."""
        request = self.request._request
        if request.content_type != "application/json":
            raise UnsupportedMediaType(
                request.content_type or "", "Send JSON, with Content-Type: application/json."
            )
        max_bytes = settings.MOCKLLM_MAX_BODY_BYTES
        # A chunked body has no Content-Length.
        body = request.read(max_bytes + 1)
        if len(body) > max_bytes:
            raise ApiError(413, f"The body is larger than {max_bytes} bytes.")
        return self.decode(body)

    def read_body(self, shape: type[Shape]) -> dict[str, Any]:
        """Return the body, validated by a shape; raise ValidationError if it is invalid."""
        return _validate(shape(data=self.read_json()))

    def query(self, shape: type[Shape]) -> dict[str, Any]:
        """Return the query parameters, validated by a shape; empty ones count as absent. Raise
        ValidationError, or ApiError 400 for a parameter given twice."""
        parameters = self.request.query_params
        for name, values in parameters.lists():
            if len(values) > 1:
                raise ApiError(400, f"{name}: given {len(values)} times", field=name)
        return _validate(shape(data={name: value for name, value in parameters.items() if value}))


class AsyncJsonView(JsonView):
    """A view whose methods are coroutines, for streams."""

    async def dispatch(  # type: ignore[override]
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Check access in a thread, then await the method; errors become JSON responses."""
        self.args, self.kwargs = args, kwargs
        self.request = drf_request = self.initialize_request(request, *args, **kwargs)
        self.headers = self.default_response_headers
        try:
            await sync_to_async(self._check_access)(drf_request)
            method = (drf_request.method or "").lower()
            allowed = method in self.http_method_names
            handler = getattr(self, method, None) if allowed else None
            answer = await (handler or self._refuse_method)(drf_request, *args, **kwargs)
        except Exception as error:
            answer = self.handle_exception(error)
        self.response = self.finalize_response(drf_request, answer, *args, **kwargs)
        return self.response

    def _check_access(self, request: Request) -> None:
        """Call `initial`, then close expired or unusable database connections."""
        try:
            self.initial(request, *self.args, **self.kwargs)
        finally:
            # A long stream must not hold the connection of its thread, if the server has one thread
            # per request. In tests the connection is the test's own, inside its transaction.
            for connection in connections.all(initialized_only=True):
                if not connection.in_atomic_block:
                    connection.close_if_unusable_or_obsolete()

    async def _refuse_method(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        """Raise MethodNotAllowed."""
        self.http_method_not_allowed(request, *args, **kwargs)


def _validate(shape: Shape) -> dict[str, Any]:
    """Return the validated data of a shape; raise ValidationError."""
    shape.is_valid(raise_exception=True)
    checked: dict[str, Any] = shape.validated_data
    return checked


def with_optional_slash(route: str, view: type[JsonView], **names: Any) -> list[URLPattern]:
    """Return two routes of a view: `route`, and one with or without its final slash that the
    OpenAPI document leaves out."""
    twin = route.removesuffix("/") if route.endswith("/") else f"{route}/"
    # A subclass, because `as_view(schema=None)` would import drf-spectacular.
    undocumented: Any = type(
        view.__name__, (view,), {"schema": None, "__module__": view.__module__}
    )
    return [path(route, view.as_view(), **names), path(twin, undocumented.as_view())]
