"""Builds the OpenAPI document of an API from its views and shapes, once per process."""

import json
from collections.abc import Callable, Sequence
from functools import cache, wraps
from threading import Lock
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.utils import Direction, OpenApiResponse, extend_schema

from mockllm_site.kit.api.openapi import JSON, Operation, unregistered
from mockllm_site.kit.api.shapes import ErrorBody

# Errors of every operation, and of those that take a body.
COMMON_ERRORS = (400, 401, 403, 500, 503)
BODY_ERRORS = (413, 415)


def _register_operation(operation: Operation) -> None:
    """Pass an operation with its responses and errors to drf-spectacular."""
    has_body = operation.body is not None
    errors = {*COMMON_ERRORS, *operation.errors, *(BODY_ERRORS if has_body else ())}
    responses: dict[Any, Any] = {
        (status, operation.media_type): OpenApiResponse(form, description=meaning)
        for status, (form, meaning) in operation.answers.items()
    }
    responses |= {
        (status, JSON): OpenApiResponse(ErrorBody, description=operation.meanings[status])
        for status in sorted(errors)
    }
    extend_schema(
        operation_id=operation.operation_id,
        parameters=[*([] if operation.query is None else [operation.query]), *operation.headers],
        request={JSON: operation.body} if has_body else None,
        responses=responses,
        tags=None if operation.tag is None else [operation.tag],
    )(operation.method)


class _ShapeSchema(OpenApiSerializerExtension):
    """Describes a Shape: no additional properties, and its `keywords`."""

    target_class = "mockllm_site.kit.api.shapes.Shape"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        if type(self.target).__doc__ is None:
            # drf-spectacular takes it from a base class.
            schema.pop("description", None)
        return {**schema, "additionalProperties": False, **self.target.keywords}


class _TextSchema(OpenApiSerializerFieldExtension):
    """Describes a Text: its `keywords`, and in requests a minimum length of 1."""

    target_class = "mockllm_site.kit.api.shapes.Text"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        base = auto_schema._map_serializer_field(self.target, direction, bypass_extensions=True)
        schema: dict[str, Any] = {**base, **self.target.keywords}
        if self.target.allow_null:
            # The caller adds null again.
            schema["type"] = "string"
        # Responses are not validated here, so only requests have a minimum length.
        return (
            schema
            if self.target.allow_blank or direction != "request"
            else schema | {"minLength": 1}
        )


class _JsonFieldSchema(OpenApiSerializerFieldExtension):
    """Describes a JsonField by the schema that it was declared with."""

    target_class = "mockllm_site.kit.api.shapes.JsonField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        return dict(self.target.form)


Document = dict[str, Any]

_build_lock = Lock()


def cached_document(make: Callable[[], Document]) -> Callable[[], Document]:
    """Return a function that calls `make` once and returns its document. All documents are built
    one at a time: drf-spectacular is not thread-safe, it sets attributes of classes."""
    cached = cache(make)

    @wraps(make)
    def document() -> Document:
        """Return the document, made at the first call by one thread."""
        with _build_lock:
            return cached()

    return document


def build_document(patterns: Sequence[Any]) -> Document:
    """Return the OpenAPI document of these URL patterns. Not thread-safe (`cached_document`)."""
    while unregistered:
        _register_operation(unregistered.pop())
    generator: Any = SchemaGenerator(patterns=list(patterns))
    schema = generator.get_schema(request=None, public=True)
    # Rendered and parsed, so that lazy texts and special types become plain JSON.
    plain: Document = json.loads(OpenApiJsonRenderer().render(schema))
    for path in plain["paths"].values():
        for operation in path.values():
            if "requestBody" in operation:
                operation["requestBody"]["required"] = True
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "query" and not parameter.get("required"):
                    parameter["schema"] = _allow_empty(parameter["schema"])
    return plain


def _allow_empty(schema: Document) -> Document:
    """Return the schema of an optional query parameter, changed to accept an empty text too."""
    text = {key: value for key, value in schema.items() if key != "minLength"}
    if text.get("type") == "string" and "format" not in text:
        return text
    return {"anyOf": [schema, {"const": ""}]}
