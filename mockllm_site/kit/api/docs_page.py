"""The page that shows an OpenAPI document: each operation as a form that sends the request."""

import json
from collections.abc import Mapping
from itertools import groupby
from typing import Any, Final, TypeAlias

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

Json: TypeAlias = Mapping[str, Any]

_JSON: Final = "application/json"
_REF: Final = "#/components/schemas/"
_EMPTY_VALUES: Final[Json] = {
    "string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "null": None,
}  # fmt: skip
_MAX_DEPTH: Final = 4


def docs_page(request: HttpRequest, document: Json, *, title: str, schema_url: str) -> HttpResponse:
    """Return an HTML page of the OpenAPI document, which is at `schema_url`."""
    schemas = document.get("components", {}).get("schemas", {})
    operations = [
        _operation_context(path, method, described, schemas)
        for path, methods in document["paths"].items()
        for method, described in methods.items()
    ]
    operations.sort(key=_tag_of)
    context = {
        "title": title,
        "description": document["info"].get("description", ""),
        "groups": [(tag, list(group)) for tag, group in groupby(operations, _tag_of)],
        "schemas": [(name, _pretty_json(schema)) for name, schema in sorted(schemas.items())],
        "schema_url": schema_url,
    }
    return render(request, "mockllm_site/api_docs.html", context)


def _operation_context(path: str, method: str, described: Json, schemas: Json) -> Json:
    """Return the template's context for an operation. `body` is the example body in its form,
    empty if the operation takes none."""
    body = described.get("requestBody", {}).get("content", {}).get(_JSON, {}).get("schema")
    parameters = described.get("parameters", ())
    return {
        **described,
        "method": method.upper(),
        "path": path,
        "parameters": sorted(
            parameters, key=lambda parameter: (not parameter.get("required"), parameter["name"])
        ),
        "body": "" if body is None else _pretty_json(example_value(body, schemas)),
        "body_schema": _referenced_name(body or {}),
        "answers": [_response_context(*item) for item in described["responses"].items()],
    }


def _tag_of(operation: Json) -> str:
    """Return the heading under which the page lists an operation."""
    return str(operation["tags"][0])


def _response_context(status: str, described: Json) -> Json:
    """Return a response for the template: `schema` names its schema, else `inline` is its JSON."""
    schema: Json = next((media["schema"] for media in described.get("content", {}).values()), {})
    name = _referenced_name(schema)
    inline = _pretty_json(schema) if schema and not name else ""
    return {**described, "status": status, "schema": name, "inline": inline}


def example_value(schema: Json, schemas: Json, depth: int = _MAX_DEPTH) -> Any:
    """Return a minimal example of a schema: its default, its first choice, else an empty value.
    Objects have their required properties, at most `depth` levels deep."""
    if name := _referenced_name(schema):
        return example_value(schemas[name], schemas, depth)
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("oneOf", "anyOf", "allOf"):
        if schema.get(key) and "properties" not in schema:
            return example_value(schema[key][0], schemas, depth)
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind != "object":
        return _EMPTY_VALUES[kind]
    if not depth:
        return {}
    properties = schema.get("properties", {})
    return {
        name: example_value(properties.get(name, {}), schemas, depth - 1)
        for name in schema.get("required", ())
    }


def _referenced_name(schema: Json) -> str:
    """Return the name of the schema that a `$ref` names; empty for a schema without `$ref`."""
    return str(schema.get("$ref", "")).removeprefix(_REF)


def _pretty_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
