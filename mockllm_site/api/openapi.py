"""The OpenAPI document of an API, as plain JSON."""

import json
from collections.abc import Sequence
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer


def openapi(patterns: Sequence[Any]) -> dict[str, Any]:
    """The document for these routes."""
    generator: Any = SchemaGenerator(patterns=list(patterns))
    schema = generator.get_schema(request=None, public=True)
    # Through its renderer: what is lazy or a type of its own becomes plain JSON.
    plain: dict[str, Any] = json.loads(OpenApiJsonRenderer().render(schema))
    for path in plain["paths"].values():
        for operation in path.values():
            if "requestBody" in operation:
                operation["requestBody"]["required"] = True
    return plain
