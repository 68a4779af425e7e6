"""What describes the control API: its OpenAPI document, the documents' JSON Schema, a page."""

from functools import cache
from typing import Any, NoReturn

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import include, path, reverse
from rest_framework.request import Request
from rest_framework.response import Response

from scenarios_app.control.documented import documented
from scenarios_app.control.errors import ControlError
from scenarios_app.control.openapi import openapi
from scenarios_app.control.view import ControlView
from scenarios_app.engine.document import json_schema

OBJECT = {"type": "object", "additionalProperties": True}
# The page draws with inline styles and images; everything comes from here.
POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)


class SchemaView(ControlView):
    @documented("read_openapi", answers={200: (OBJECT, "OpenAPI 3.1.")})
    def get(self, request: Request) -> Response:
        """This document."""
        return Response(_openapi())


class ScenarioSchemaView(ControlView):
    @documented("read_scenario_schema", answers={200: (OBJECT, "JSON Schema 2020-12.")})
    def get(self, request: Request) -> Response:
        """The JSON Schema of scenario documents, for editors and for checks before loading."""
        return Response(json_schema())


class DocsView(ControlView):
    @documented("read_docs", answers={200: ({"type": "string"}, "HTML.")}, media_type="text/html")
    def get(self, request: Request) -> HttpResponse:
        """A page to read this document and to try it on."""
        context = {"schema_url": reverse("control:schema")}
        page = render(request._request, "scenarios_app/control/docs.html", context)
        page.headers["Content-Security-Policy"] = POLICY
        return page


class NothingHere(ControlView):
    """Every other path, whatever the method."""

    schema = None

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> NoReturn:
        path = request.path
        raise ControlError(
            404, f"There is no {path}; {reverse('control:docs')} says what there is."
        )


@cache
def _openapi() -> dict[str, Any]:
    return openapi((path("control/", include("scenarios_app.control.urls")),))
