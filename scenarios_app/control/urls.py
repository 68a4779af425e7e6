"""The routes of the control API. A slash at the end is taken too: no redirect loses a body."""

from typing import Any

from django.urls import URLPattern, path, re_path

from scenarios_app.control.explain import ExplainView
from scenarios_app.control.pages import DocsView, NothingHere, ScenarioSchemaView, SchemaView
from scenarios_app.control.requests import OneRequest, RequestsView
from scenarios_app.control.scenarios import AllScenarios, OneScenario, ScenarioSteps
from scenarios_app.control.sessions import ResetView, StateView
from scenarios_app.control.verify import VerifyView
from scenarios_app.control.view import ControlView

app_name = "control"


def _either(route: str, view: type[ControlView], **names: Any) -> list[URLPattern]:
    """A path as it is documented, then its twin with a slash more or less at the end."""
    twin = route.removesuffix("/") if route.endswith("/") else f"{route}/"
    return [path(route, view.as_view(), **names), path(twin, view.as_view(schema=None))]


urlpatterns = [
    *_either("scenarios", AllScenarios),
    *_either("scenarios/<path:name>/steps", ScenarioSteps),
    # No twin: a name may end in a slash.
    path("scenarios/<path:name>", OneScenario.as_view()),
    *_either("reset", ResetView),
    *_either("state", StateView),
    *_either("requests", RequestsView),
    *_either("requests/<str:id>", OneRequest),
    *_either("verify", VerifyView),
    *_either("explain", ExplainView),
    *_either("schema/", SchemaView, name="schema"),
    *_either("schema/scenario.json", ScenarioSchemaView),
    *_either("docs/", DocsView, name="docs"),
    re_path("", NothingHere.as_view()),
]
