"""The routes of the control API."""

from django.urls import path, re_path, register_converter
from django.urls.converters import PathConverter

from mockllm_site.kit.api.views import either
from scenarios_app.control.coverage import CoverageView
from scenarios_app.control.explain import ExplainView
from scenarios_app.control.pages import DocsView, NothingHere, ScenarioSchemaView, SchemaView
from scenarios_app.control.recording import DriftView, RecordingView
from scenarios_app.control.requests import OneRequest, RequestsView
from scenarios_app.control.scenarios import AllScenarios, OneScenario, ScenarioSteps
from scenarios_app.control.sessions import ResetView, StateView
from scenarios_app.control.verdict import VerdictView
from scenarios_app.control.verify import VerifyView

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
