"""What OpenAPI documents tell of shapes beyond their fields: that they are closed, which texts may
not be empty, and what a shape says of itself as a whole."""

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction


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
