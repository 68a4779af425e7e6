"""Tables of the control API's routes and fields, from its OpenAPI document."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from mockllm_site.kit.api.errors import error_response
from scenarios_app.control.kit import STATUS_DESCRIPTIONS
from scenarios_app.control.mcp.tools import TOOLS
from scenarios_app.control.openapi import document
from tests.docs.document_tables import many, table

_COMPONENT = "#/components/schemas/"
# Values that another page describes.
ELSEWHERE: Mapping[str, str] = {
    "Document": "[a document](reference/scenario-format.md#several-scenarios)",
    "ScenarioDocument": "[a scenario](reference/scenario-format.md#a-scenario)",
    "StepDocument": "[a step](reference/scenario-format.md#a-step)",
    "MatchDocument": "[match](reference/scenario-format.md#match)",
}


@cache
def described() -> dict[str, Any]:
    return document()


def operations() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Method, path and description of everything that the API can do."""
    for route, methods in described()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), route, operation


def routes_table(under: str = "/control/") -> str:
    rows = [
        (f"`{method} {_shown(route)}`", _meaning(operation["description"]))
        for method, route, operation in operations()
        if route.startswith(under)
    ]
    return table(("route", "what it does"), rows)


def tools_table() -> str:
    """The tools of the control MCP server, with the beginning of their descriptions."""
    rows = [
        (f"`{spec.name}`", spec.description.partition(" Next: ")[0].removesuffix("."))
        for spec in TOOLS.values()
    ]
    return table(("tool", "what it does"), rows)


def query_table(of: str) -> str:
    """What may stand in the query of an operation."""
    (operation,) = (one for _, _, one in operations() if one["operationId"] == of)
    rows = [
        (f"`{one['name']}`", _holds(one["schema"]), _meaning(one["description"]))
        for one in operation["parameters"]
        if one["in"] == "query"
    ]
    return table(("query", "holds", "meaning"), rows)


def fields_table(of: str) -> str:
    """The fields of a body that is taken or given."""
    properties = described()["components"]["schemas"][of]["properties"]
    rows = [
        (f"`{name}`", _holds(one), _meaning(one["description"])) for name, one in properties.items()
    ]
    return table(("field", "holds", "meaning"), rows)


def errors_table() -> str:
    codes = {
        status: json.loads(error_response(status, "").content)["code"]
        for status in STATUS_DESCRIPTIONS
    }
    rows = [
        (f"{status}", f"`{codes[status]}`", _meaning(STATUS_DESCRIPTIONS[status]))
        for status in STATUS_DESCRIPTIONS
    ]
    return table(("status", "code", "when"), rows)


def _holds(schema: Mapping[str, Any]) -> str:
    match schema:
        case {"anyOf": [form, {"const": ""}]}:
            # An empty value counts as not given, as the page says.
            return _holds(form)
        case {"oneOf": forms} | {"anyOf": forms} | {"allOf": forms}:
            told = dict.fromkeys(_holds(one) for one in forms if one.get("type") != "null")
            null = any(one.get("type") == "null" for one in forms)
            return " or ".join([*told, *(["null"] if null else [])])
        case {"$ref": ref}:
            name = ref.removeprefix(_COMPONENT)
            return ELSEWHERE.get(name) or _holds(described()["components"]["schemas"][name])
        case {"enum": values}:
            return ", ".join(f"`{value}`" for value in values)
        case {"type": [kind, "null"]}:
            return f"{_holds({**schema, 'type': kind})} or null"
        case {"type": "array", "items": items}:
            return f"list of {many(_holds(items))}"
        case {"type": "object", "additionalProperties": values} if values:
            return f"object of {many(_holds(values))}"
        case {"type": "string", "format": "uuid"}:
            return "id"
        case {"type": "string", "format": "date-time"}:
            return "time"
        case {"type": kind}:
            return {"boolean": "true or false", "integer": "whole number", "string": "text"}.get(
                kind, kind
            )
        case _:
            return "any JSON"


def _shown(route: str) -> str:
    """A route with its parameters in capitals, as the pages write them."""
    return "/".join(part.strip("{}").upper() if "{" in part else part for part in route.split("/"))


def _meaning(text: str) -> str:
    # The rest repeats the values of a choice.
    text = text.partition("\n\n* ")[0]
    return " ".join(text.split()).rstrip(".")
