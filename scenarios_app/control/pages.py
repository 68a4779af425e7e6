"""What describes the control API: its OpenAPI document, the documents' JSON Schema, a page."""

from functools import cache
from typing import Any, NoReturn

from django.http import HttpResponse
from django.urls import include, path, reverse
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.api.openapi import openapi
from mockllm_site.api.pages import docs_page
from scenarios_app.control.documented import documented
from scenarios_app.control.errors import ControlError
from scenarios_app.control.openapi import document_components
from scenarios_app.control.view import ControlView
from scenarios_app.engine.document import json_schema

OBJECT = {"type": "object", "additionalProperties": True}


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
        url = reverse("control:schema")
        return docs_page(request._request, title="mockllm control API", schema_url=url)


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
    document = openapi([path("control/", include("scenarios_app.control.urls"))])
    document["components"]["schemas"] |= document_components()
    return document
