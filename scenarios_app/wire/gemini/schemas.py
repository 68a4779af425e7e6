"""Google's own schemas, which are those of OpenAPI with types in capitals, as JSON Schemas."""

import re

from scenarios_app.engine.canonical import Json

_UNDERLINED = re.compile("_([a-z])")
# Sizes are 64-bit numbers, which protobuf writes as strings.
_SIZES = frozenset(
    ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
)


def json_schema(schema: Json) -> Json:
    """The JSON Schema that one of Google's means. What is in no schema of theirs stays as it is."""
    if not isinstance(schema, dict):
        return schema
    return dict(map(_keyword, schema.items()))


def _keyword(item: tuple[str, Json]) -> tuple[str, Json]:
    key = _UNDERLINED.sub(lambda found: found[1].upper(), item[0])
    match key, item[1]:
        case "type", str(name):
            return key, name.lower()
        case "items" | "additionalProperties" | "not", dict(inner):
            return key, json_schema(inner)
        case "anyOf" | "allOf" | "oneOf" | "prefixItems", list(several):
            return key, [json_schema(each) for each in several]
        case "properties" | "defs" | "$defs", dict(named):
            return key, {name: json_schema(each) for name, each in named.items()}
        case _, str(digits) if key in _SIZES and digits.isdecimal():
            return key, int(digits)
        case _:
            return key, item[1]
