"""The routes of the control API, the JSON Schema and the page of its docs."""

from typing import Any, NoReturn

from django.http import HttpResponse
from django.urls import path, re_path, register_converter, reverse
from django.urls.converters import PathConverter
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.docs_page import docs_page
from mockllm_site.kit.api.errors import LIGHT_SERVER_HINT
from mockllm_site.kit.api.views import with_optional_slash
from scenarios_app.conf import setting
from scenarios_app.control.changes import AnswerChangesView
from scenarios_app.control.coverage import CoverageView
from scenarios_app.control.explain import ExplainView
from scenarios_app.control.kit import ControlError, ControlView, documented
from scenarios_app.control.mcp.view import McpView
from scenarios_app.control.recording import AllDriftView, RecordingView
from scenarios_app.control.requests import RequestDetailView, RequestsView
from scenarios_app.control.scenarios import ScenarioDetailView, ScenarioListView, ScenarioStepsView
from scenarios_app.control.sessions import ResetView, SessionStateView
from scenarios_app.control.survival import SurvivalView
from scenarios_app.control.verdict import VerdictView
from scenarios_app.control.verify import VerifyView
from scenarios_app.engine.document import read_schema

OBJECT = {"type": "object", "additionalProperties": True}


class SchemaView(ControlView):
    @documented("read_openapi", OBJECT, "OpenAPI 3.1.")
    def get(self, request: Request) -> Response:
        """The OpenAPI document of this API."""
        return Response(_openapi())


class ScenarioSchemaView(ControlView):
    @documented("read_scenario_schema", OBJECT, "JSON Schema 2020-12.")
    def get(self, request: Request) -> Response:
        """The JSON Schema of scenario documents, for editors and for checks before loading."""
        return Response(read_schema("scenario"))


class DocsView(ControlView):
    @documented("read_docs", {"type": "string"}, "HTML.", media_type="text/html")
    def get(self, request: Request) -> HttpResponse:
        """The page that describes this API and tries it."""
        url = reverse("control:schema")
        return docs_page(request._request, _openapi(), title="mockllm control API", schema_url=url)


class UnknownPathView(ControlView):
    """Answers 404 for every other path and method."""

    schema = None

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> NoReturn:
        message = f"There is no {request.path}; {reverse('control:docs')} says what there is."
        raise ControlError(404, message)


def _openapi() -> dict[str, Any]:
    """Return the OpenAPI document; ControlError 404 on a light server."""
    if setting("MOCKLLM_LIGHT"):
        raise ControlError(404, f"There is no OpenAPI document: {LIGHT_SERVER_HINT}")
    # Imported late: a light server does not have its library.
    from scenarios_app.control.openapi import document

    return document()


app_name = "control"


class AnyText(PathConverter):
    """Matches names of scenarios, which may hold slashes and line breaks; views validate them."""

    regex = "(?s:.+)"


register_converter(AnyText, "any")

urlpatterns = [
    *with_optional_slash("scenarios", ScenarioListView),
    *with_optional_slash("scenarios/<any:name>/steps", ScenarioStepsView),
    # Not `with_optional_slash`: a name may end in a slash.
    path("scenarios/<any:name>", ScenarioDetailView.as_view()),
    *with_optional_slash("reset", ResetView),
    *with_optional_slash("state", SessionStateView),
    *with_optional_slash("requests", RequestsView),
    *with_optional_slash("requests/<str:id>", RequestDetailView),
    *with_optional_slash("verify", VerifyView),
    *with_optional_slash("verdict", VerdictView),
    *with_optional_slash("coverage", CoverageView),
    *with_optional_slash("coverage/faults", SurvivalView),
    *with_optional_slash("recording", RecordingView),
    *with_optional_slash("drift", AllDriftView),
    *with_optional_slash("changes", AnswerChangesView),
    *with_optional_slash("explain", ExplainView),
    *with_optional_slash("mcp", McpView),
    *with_optional_slash("schema/", SchemaView, name="schema"),
    *with_optional_slash("schema/scenario.json", ScenarioSchemaView),
    *with_optional_slash("docs/", DocsView, name="docs"),
    re_path("", UnknownPathView.as_view()),
]
