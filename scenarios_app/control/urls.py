"""The routes of the control API, and what describes it: its OpenAPI document, the documents' JSON
Schema, a page, and what is said of other paths."""

import json
from typing import Any, NoReturn

from django.http import HttpResponse
from django.urls import include, path, re_path, register_converter, reverse
from django.urls.converters import PathConverter
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.docs_page import docs_page
from mockllm_site.kit.api.openapi import Document, made_once, openapi
from mockllm_site.kit.api.views import either
from scenarios_app.control.coverage import CoverageView
from scenarios_app.control.explain import ExplainView
from scenarios_app.control.kit import ControlError, ControlView, documented
from scenarios_app.control.recording import DriftView, RecordingView
from scenarios_app.control.requests import OneRequest, RequestsView
from scenarios_app.control.scenarios import AllScenarios, OneScenario, ScenarioSteps
from scenarios_app.control.sessions import ResetView, StateView
from scenarios_app.control.verdict import VerdictView
from scenarios_app.control.verify import VerifyView
from scenarios_app.engine.document import json_schema

_OF_A_DOCUMENT = "#/$defs/"
_OF_A_COMPONENT = "#/components/schemas/"
OBJECT = {"type": "object", "additionalProperties": True}


def document_components() -> dict[str, Any]:
    """The components by name: the whole is `Document`."""
    text = json.dumps(json_schema()).replace(_OF_A_DOCUMENT, _OF_A_COMPONENT)
    schema: dict[str, Any] = json.loads(text)
    components: dict[str, Any] = schema.pop("$defs")
    del schema["$schema"]
    return {**components, "Document": schema}


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
        return docs_page(request._request, _openapi(), title="mockllm control API", schema_url=url)


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


app_name = "control"


class AnyText(PathConverter):
    """Names of scenarios, slashes and line breaks and all: what is wrong with one is told later."""

    regex = "(?s:.+)"


register_converter(AnyText, "any")

urlpatterns = [
    *either("scenarios", AllScenarios),
    *either("scenarios/<any:name>/steps", ScenarioSteps),
    # No twin: a name may end in a slash.
    path("scenarios/<any:name>", OneScenario.as_view()),
    *either("reset", ResetView),
    *either("state", StateView),
    *either("requests", RequestsView),
    *either("requests/<str:id>", OneRequest),
    *either("verify", VerifyView),
    *either("verdict", VerdictView),
    *either("coverage", CoverageView),
    *either("recording", RecordingView),
    *either("drift", DriftView),
    *either("explain", ExplainView),
    *either("schema/", SchemaView, name="schema"),
    *either("schema/scenario.json", ScenarioSchemaView),
    *either("docs/", DocsView, name="docs"),
    re_path("", NothingHere.as_view()),
]
