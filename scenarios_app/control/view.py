"""What all views of the control API have in common: who gets in, what is read, what is refused."""

from typing import Any, TypeVar

from django.conf import settings
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.permissions import AllowAny
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from scenarios_app.control.access import Access
from scenarios_app.control.errors import ControlError, answer_error
from scenarios_app.control.shapes import Shape
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document_json import decode

T = TypeVar("T")


class JsonAlways(BaseContentNegotiation):
    """Answers are JSON, whatever the client would rather have."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type


class ControlView(APIView):
    """One path. `given` and `query` read the request: unknown keys and wrong types are errors."""

    authentication_classes = (Access,)
    # Whoever got that far.
    permission_classes = (AllowAny,)
    content_negotiation_class = JsonAlways
    renderer_classes = (JSONRenderer,)
    # For the OpenAPI document; bodies are read by `given`.
    parser_classes = (JSONParser,)
    http_method_names = ("get", "head", "post", "put", "delete")

    def get_exception_handler(self) -> Any:
        return answer_error

    def given(self) -> Json:
        """The JSON of the request's body.

        Its media type has to say so: that is what no page of another origin can send unasked. It
        is read to its end, since a body that comes in chunks has no length beforehand.
        """
        request = self.request._request
        if request.content_type != "application/json":
            raise UnsupportedMediaType(
                request.content_type or "", "Send JSON, with Content-Type: application/json."
            )
        most = settings.MOCKLLM_MAX_BODY_BYTES
        body = request.read(most + 1)
        if len(body) > most:
            raise ControlError(413, f"The body is larger than {most} bytes.")
        return decode(body)

    def given_as(self, shape: type[Shape]) -> dict[str, Any]:
        """The body, checked to be of a shape."""
        return _checked(shape(data=self.given()))

    def query(self, shape: type[Shape]) -> dict[str, Any]:
        """The query's parameters, checked to be of a shape; an empty one is as if not given."""
        found = self.request.query_params
        for name, values in found.lists():
            if len(values) > 1:
                raise ControlError(400, f"{name}: given {len(values)} times", field=name)
        return _checked(shape(data={name: value for name, value in found.items() if value}))


def _checked(shape: Shape) -> dict[str, Any]:
    shape.is_valid(raise_exception=True)
    checked: dict[str, Any] = shape.validated_data
    return checked
