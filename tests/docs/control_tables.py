"""Tables of the control API's routes and queries, from its OpenAPI document."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from mockllm_site.kit.api.errors import error_response
from scenarios_app.control.kit import STATUS_DESCRIPTIONS
from scenarios_app.control.mcp.tools import TOOLS
from scenarios_app.control.openapi import document
from tests.docs.document_tables import pluralize, table

_COMPONENT = "#/components/schemas/"
# Values that another page describes.
LINKS: Mapping[str, str] = {
    "Document": "[a document](reference/scenario-format.md#several-scenarios)",
    "ScenarioDocument": "[a scenario](reference/scenario-format.md#a-scenario)",
    "StepDocument": "[a step](reference/scenario-format.md#a-step)",
    "MatchDocument": "[match](reference/scenario-format.md#match)",
}


@cache
def openapi_document() -> dict[str, Any]:
    return document()


def operations() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield method, path and description of every operation of the control API."""
    for route, methods in openapi_document()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), route, operation


def routes_table(under: str = "/control/") -> str:
    rows = [
        (f"`{method} {_upper_case_parameters(route)}`", _meaning(operation["description"]))
        for method, route, operation in operations()
        if route.startswith(under)
    ]
    return table(("route", "what it does"), rows)


def tools_table() -> str:
    """Return the table of MCP tools, with the first part of their descriptions."""
    rows = [
        (f"`{spec.name}`", spec.description.partition(" Next: ")[0].removesuffix("."))
        for spec in TOOLS.values()
    ]
    return table(("tool", "what it does"), rows)


def query_table(of: str) -> str:
    """Return the table of an operation's query parameters."""
    (operation,) = (parameter for _, _, parameter in operations() if parameter["operationId"] == of)
    rows = [
        (
            f"`{parameter['name']}`",
            _describe_schema(parameter["schema"]),
            _meaning(parameter["description"]),
        )
        for parameter in operation["parameters"]
        if parameter["in"] == "query"
    ]
    return table(("query", "holds", "meaning"), rows)


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


def _describe_schema(schema: Mapping[str, Any]) -> str:
    match schema:
        case {"anyOf": [form, {"const": ""}]}:
            # An empty value counts as not given, as the page says.
            return _describe_schema(form)
        case {"oneOf": forms} | {"anyOf": forms} | {"allOf": forms}:
            descriptions = dict.fromkeys(
                _describe_schema(form) for form in forms if form.get("type") != "null"
            )
            is_nullable = any(form.get("type") == "null" for form in forms)
            return " or ".join([*descriptions, *(["null"] if is_nullable else [])])
        case {"$ref": ref}:
            name = ref.removeprefix(_COMPONENT)
            return LINKS.get(name) or _describe_schema(
                openapi_document()["components"]["schemas"][name]
            )
        case {"enum": values}:
            return ", ".join(f"`{value}`" for value in values)
        case {"type": [kind, "null"]}:
            return f"{_describe_schema({**schema, 'type': kind})} or null"
        case {"type": "array", "items": items}:
            return f"list of {pluralize(_describe_schema(items))}"
        case {"type": "object", "additionalProperties": values} if values:
            return f"object of {pluralize(_describe_schema(values))}"
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


def _upper_case_parameters(route: str) -> str:
    """Return a route with its parameters in upper case, as in the pages."""
    return "/".join(part.strip("{}").upper() if "{" in part else part for part in route.split("/"))


def _meaning(text: str) -> str:
    # The rest repeats the values of a choice.
    text = text.partition("\n\n* ")[0]
    return " ".join(text.split()).rstrip(".")
