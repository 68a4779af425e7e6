"""Tables of the control API's routes, tools and errors, from its OpenAPI document."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from mockllm_site.kit.api.errors import error_response
from scenarios_app.control.kit import STATUS_DESCRIPTIONS
from scenarios_app.control.mcp.tools import TOOLS
from scenarios_app.control.openapi import document
from tests.docs.document_tables import table


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


def tools_list() -> str:
    """Return the names of the MCP tools in a sentence."""
    return f"The tools are {', '.join(f'`{name}`' for name in TOOLS)}."


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


def _upper_case_parameters(route: str) -> str:
    """Return a route with its parameters in upper case, as in the pages."""
    return "/".join(part.strip("{}").upper() if "{" in part else part for part in route.split("/"))


def _meaning(text: str) -> str:
    # The rest repeats the values of a choice.
    text = text.partition("\n\n* ")[0]
    return " ".join(text.split()).rstrip(".")
