"""What describes the control API: its OpenAPI document, the documents' JSON Schema, a page."""

import json
from typing import Any, NoReturn

from django.http import HttpResponse
from django.urls import include, path, reverse
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.openapi import Document, docs_page, made_once, openapi
from scenarios_app.control.kit import ControlError, ControlView, documented
from scenarios_app.engine.document import json_schema

_OF_A_DOCUMENT = "#/$defs/"
_OF_A_COMPONENT = "#/components/schemas/"


def document_components() -> dict[str, Any]:
    """The components by name: the whole is `Document`."""
    text = json.dumps(json_schema()).replace(_OF_A_DOCUMENT, _OF_A_COMPONENT)
    schema: dict[str, Any] = json.loads(text)
    components: dict[str, Any] = schema.pop("$defs")
    del schema["$schema"]
    return {**components, "Document": schema}


OBJECT = {"type": "object", "additionalProperties": True}


class SchemaView(ControlView):
    @documented("read_openapi", answers={200: (OBJECT, "OpenAPI 3.1.")})
    def get(self, request: Request) -> Response:
        """The OpenAPI document of this API."""
        return Response(_openapi())


class ScenarioSchemaView(ControlView):
    @documented("read_scenario_schema", answers={200: (OBJECT, "JSON Schema 2020-12.")})
    def get(self, request: Request) -> Response:
        """The JSON Schema of scenario documents, for editors and for checks before loading."""
        return Response(_scenario_schema())


class DocsView(ControlView):
    @documented("read_docs", answers={200: ({"type": "string"}, "HTML.")}, media_type="text/html")
    def get(self, request: Request) -> HttpResponse:
        """The page that describes this API and tries it."""
        url = reverse("control:schema")
        return docs_page(request._request, title="mockllm control API", schema_url=url)


class NothingHere(ControlView):
    """Every other path, by any method."""

    schema = None

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> NoReturn:
        path = request.path
        raise ControlError(
            404, f"There is no {path}; {reverse('control:docs')} says what there is."
        )


@made_once
def _openapi() -> Document:
    document = openapi([path("control/", include("scenarios_app.control.urls"))])
    document["components"]["schemas"] |= document_components()
    return document


@made_once
def _scenario_schema() -> Document:
    return json_schema()
