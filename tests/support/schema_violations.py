"""Generates bodies that an OpenAPI document forbids; each one breaks one rule."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import httpx2

Document: TypeAlias = dict[str, Any]
Violation: TypeAlias = tuple[str, str, str, Any]


def send_violations(document: Document, *, base_url: str) -> dict[str, int]:
    """Send each body and return the response status by method, path and rule."""
    with httpx2.Client(base_url=base_url, trust_env=False) as client:
        return {
            f"{method} {path} {rule}": client.request(method, path, json=body).status_code
            for method, path, rule, body in violations(document)
        }


def violations(document: Document) -> Iterator[Violation]:
    """Yield method, path, rule and body for every operation whose body is an object."""
    schemas = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            for body in (content_schema["schema"] for content_schema in content.values()):
                schema = _resolved(body, schemas)
                if "properties" in schema:
                    for rule, wrong in _invalid_bodies(schema, schemas):
                        yield method.upper(), path, rule, wrong


def _invalid_bodies(schema: Document, schemas: Document) -> Iterator[tuple[str, Any]]:
    valid_body = _smallest(schema, schemas)
    yield "additionalProperties", {**valid_body, "unknown": 1}
    for name in schema.get("required", ()):
        yield f"required {name}", {key: value for key, value in valid_body.items() if key != name}
    if "minProperties" in schema:
        yield "minProperties", {}
    if "maxProperties" in schema:
        yield "maxProperties", dict.fromkeys(schema["properties"], 1)
    if "oneOf" in schema:
        yield "oneOf: none", {k: v for k, v in valid_body.items() if k in schema["required"]}
        yield "oneOf: all", {**valid_body, **{o["required"][0]: "x" for o in schema["oneOf"]}}
    for name, property_schema in schema["properties"].items():
        inner = _resolved(property_schema, schemas)
        for rule, wrong in _wrong_values(inner, schemas):
            yield f"{rule} of {name}", {**valid_body, name: wrong}


def _wrong_values(schema: Document, schemas: Document) -> Iterator[tuple[str, Any]]:
    types = schema.get("type")
    if types:
        yield "type", 1 if "integer" not in types else "x"
    if "minLength" in schema:
        yield "minLength", ""
    if "maxLength" in schema:
        yield "maxLength", "x" * (schema["maxLength"] + 1)
    if "pattern" in schema:
        yield "pattern", " \n"
    if "minimum" in schema:
        yield "minimum", schema["minimum"] - 1
    if "maximum" in schema:
        yield "maximum", schema["maximum"] + 1
    # Steps and matches are documents, whose rules other tests check.
    if "properties" in schema and len(schema["properties"]) < 5:
        yield from _invalid_bodies(schema, schemas)


def _smallest(schema: Document, schemas: Document) -> Document:
    """Return the smallest valid body."""
    needed = [*schema.get("required", ())]
    if "oneOf" in schema:
        needed += schema["oneOf"][0]["required"]
    properties = schema["properties"]
    return {name: _value(_resolved(properties[name], schemas)) for name in needed}


def _value(schema: Document) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    return {"object": {}, "integer": 1}.get(schema.get("type", ""), "a")


def _resolved(schema: Document, schemas: Document) -> Document:
    match schema:
        case {"$ref": ref} | {"allOf": [{"$ref": ref}]} | {"oneOf": [{"$ref": ref}, *_]}:
            target: Document = schemas[ref.rpartition("/")[2]]
            return target
        case _:
            return schema
