"""The OpenAPI document of the control API, and the JSON Schema of what it is about."""

import json
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer

from scenarios_app.engine.document import json_schema

_OF_A_DOCUMENT = "#/$defs/"
_OF_A_COMPONENT = "#/components/schemas/"


def openapi(patterns: tuple[Any, ...]) -> dict[str, Any]:
    """The document for these routes; scenario documents are components of it."""
    generator: Any = SchemaGenerator(patterns=list(patterns))
    schema = generator.get_schema(request=None, public=True)
    # Through its renderer: what is lazy or a type of its own becomes plain JSON.
    plain: dict[str, Any] = json.loads(OpenApiJsonRenderer().render(schema))
    for path in plain["paths"].values():
        for operation in path.values():
            if "requestBody" in operation:
                operation["requestBody"]["required"] = True
    plain["components"]["schemas"] |= _documents()
    return plain


def _documents() -> dict[str, Any]:
    """The JSON Schema of documents as components: the whole is `Document`."""
    text = json.dumps(json_schema()).replace(_OF_A_DOCUMENT, _OF_A_COMPONENT)
    schema: dict[str, Any] = json.loads(text)
    components: dict[str, Any] = schema.pop("$defs")
    del schema["$schema"]
    return {**components, "Document": schema}
