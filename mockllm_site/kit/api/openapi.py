"""The OpenAPI document of an API: what a view's method says for it, the schemas of shapes, how it
is made, once in a process."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from threading import Lock
from typing import Any, TypeAlias, TypeVar

from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.utils import Direction, OpenApiParameter, OpenApiResponse, extend_schema

from mockllm_site.kit.api.shapes import ErrorBody, Shape

F = TypeVar("F", bound=Callable[..., Any])
# A shape, or a piece of JSON Schema.
Form: TypeAlias = type[Shape] | dict[str, Any]

JSON = "application/json"
ALWAYS = (400, 401, 403, 500, 503)
WITH_BODY = (413, 415)


def documented(
    operation: str,
    *,
    meanings: Mapping[int, str],
    query: type[Shape] | None = None,
    headers: Sequence[OpenApiParameter] = (),
    body: Form | None = None,
    answers: Mapping[int, tuple[Form | None, str]],
    errors: tuple[int, ...] = (),
    media_type: str = JSON,
    tag: str | None = None,
) -> Callable[[F], F]:
    """The operation's id, what it reads and each answer that it gives, with its meaning; that of
    an error is in `meanings`. Without a tag, the path's first word groups it."""
    refused = {*ALWAYS, *errors, *(WITH_BODY if body is not None else ())}
    responses: dict[Any, Any] = {
        (status, media_type): OpenApiResponse(form, description=meaning)
        for status, (form, meaning) in answers.items()
    }
    responses |= {
        (status, JSON): OpenApiResponse(ErrorBody, description=meanings[status])
        for status in sorted(refused)
    }
    return extend_schema(
        operation_id=operation,
        parameters=[*([] if query is None else [query]), *headers],
        request=None if body is None else {JSON: body},
        responses=responses,
        tags=None if tag is None else [tag],
    )


class _ShapeSchema(OpenApiSerializerExtension):
    target_class = "mockllm_site.kit.api.shapes.Shape"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        made = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**made, "additionalProperties": False, **self.target.keywords}


class _TextSchema(OpenApiSerializerFieldExtension):
    target_class = "mockllm_site.kit.api.shapes.Text"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        made = auto_schema._map_serializer_field(self.target, direction, bypass_extensions=True)
        told: dict[str, Any] = {**made, **self.target.keywords}
        if self.target.allow_null:
            # The caller says so once more.
            told["type"] = "string"
        # Answers are written, not read: what they say is checked by nobody here.
        return (
            told if self.target.allow_blank or direction != "request" else told | {"minLength": 1}
        )


Document = dict[str, Any]

_making = Lock()


def made_once(make: Callable[[], Document]) -> Callable[[], Document]:
    """As `functools.cache`, for several threads: who asks while any document is being made
    waits. What makes them loads parts of itself into globals at its first use, and says what it
    describes by attributes of classes that all threads share."""
    made = cache(make)

    @wraps(make)
    def document() -> Document:
        with _making:
            return made()

    return document


def openapi(patterns: Sequence[Any]) -> Document:
    """The document for these routes."""
    generator: Any = SchemaGenerator(patterns=list(patterns))
    schema = generator.get_schema(request=None, public=True)
    # Through its renderer: what is lazy or a type of its own becomes plain JSON.
    plain: Document = json.loads(OpenApiJsonRenderer().render(schema))
    for path in plain["paths"].values():
        for operation in path.values():
            if "requestBody" in operation:
                operation["requestBody"]["required"] = True
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "query" and not parameter.get("required"):
                    parameter["schema"] = _or_empty(parameter["schema"])
    return plain


def _or_empty(schema: Document) -> Document:
    """The schema of a query's parameter, of which an empty one is as if not given."""
    text = {key: value for key, value in schema.items() if key != "minLength"}
    if text.get("type") == "string" and "format" not in text:
        return text
    return {"anyOf": [schema, {"const": ""}]}
