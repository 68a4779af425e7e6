"""The OpenAPI document of an API, as plain JSON, and how documents are made: once in a process."""

import json
from collections.abc import Callable, Sequence
from functools import cache, wraps
from threading import Lock
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer

from mockllm_site.kit.api import shape_schemas as shape_schemas

Document = dict[str, Any]

_making = Lock()


def made_once(make: Callable[[], Document]) -> Callable[[], Document]:
    """As `functools.cache`, for several threads: whoever asks while any document is being made
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
