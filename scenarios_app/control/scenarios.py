"""The scenario API: common scenarios, or with `?session=` the private ones of a session."""

from dataclasses import asdict
from functools import partial
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.shapes import Shape, Text, Whole
from scenarios_app.control.kit import (
    DOCUMENT,
    SCENARIO,
    STEP,
    ControlView,
    ScenarioField,
    SessionQuery,
    documented,
)
from scenarios_app.control.sessions import resolve_scenario_session
from scenarios_app.control.stores import (
    CommonScenarios,
    ScenarioStore,
    SessionScenarios,
    check_step,
    read_document,
    read_documents,
)
from scenarios_app.engine.document import dump
from scenarios_app.serving.transports.asgi_scope import path_of
from scenarios_app.store.documents import documents_json

documented_by_session = partial(documented, query=SessionQuery)


class ProblemBody(Shape):
    """A problem of a stored scenario that is left out."""

    scenario = Text(help_text="The scenario's name.")
    step = Whole(allow_null=True, help_text="The number of the step, from 1, or null.")
    place = Text(allow_blank=True, help_text="The key in the document of the step or scenario.")
    message = Text(help_text="The problem.")


class ScenariosBody(Shape):
    """Every valid scenario, and the problems of those that are stored but invalid."""

    scenarios = serializers.ListField(child=ScenarioField(), help_text="The scenarios by name.")
    problems = ProblemBody(many=True, help_text="The problems of invalid scenarios.")


class ScenarioView(ControlView):
    """Base of the views of scenarios: those of a session if one is named, else the common ones."""

    def store(self) -> ScenarioStore:
        """Return the store of the session in the query, or the common one."""
        return scenario_store(self.query(SessionQuery).get("session"))


def scenario_store(session: str | None) -> ScenarioStore:
    """Return the store of a session (its name or API key), or the common one."""
    if session is None:
        return CommonScenarios()
    return SessionScenarios(resolve_scenario_session(session))


class ScenarioListView(ScenarioView):
    @documented_by_session("list_scenarios", ScenariosBody, "The scenarios by name.")
    def get(self, request: Request) -> Response:
        """Every scenario, enabled or not."""
        listed = self.store().list_all()
        problems = list(map(asdict, listed.problems))
        return Response({"scenarios": list(map(dump, listed.documents)), "problems": problems})

    @documented_by_session(
        "add_scenarios", DOCUMENT, "The added scenarios.", status=201, body=DOCUMENT, errors=(409,)
    )
    def post(self, request: Request) -> Response:
        """Add a scenario, or all of a document of several; their names must be free."""
        store = self.store()
        documents = read_documents(self.read_json())
        store.add(documents)
        return Response(documents_json(documents), status=201)


class ScenarioDetailView(ScenarioView):
    @documented_by_session("read_scenario", SCENARIO, "The scenario.", errors=(404, 409))
    def get(self, request: Request, name: str) -> Response:
        """One scenario, as a document to load again."""
        return Response(dump(self.store().get(name)))

    @documented_by_session(
        "put_scenario",
        SCENARIO,
        "The replaced scenario.",
        body=DOCUMENT,
        errors=(404,),
        also={201: (SCENARIO, "The new scenario.")},
    )
    def put(self, request: Request, name: str) -> Response:
        """Create or replace a scenario. Replacing resets its steps in all sessions."""
        store = self.store()
        document = read_document(self.read_json(), name=name)
        return Response(dump(document), status=201 if store.put(document) else 200)

    @documented_by_session("delete_scenario", None, "Deleted.", status=204, errors=(404,))
    def delete(self, request: Request, name: str) -> Response:
        """Delete a scenario, and the state of its steps in sessions."""
        self.store().remove(name)
        return Response(status=204)


class ScenarioStepsView(ScenarioView):
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Handle `NAME%2Fsteps`, whose slash is encoded, as the path of the scenario
        `NAME/steps`."""
        # Django decodes a path before routing it: `a%2Fsteps` is the name of a scenario.
        if path_of(getattr(request, "scope", {"path": ""})).lower().endswith("%2fsteps"):
            name = f"{kwargs['name']}/steps"
            return ScenarioDetailView.as_view()(request, name=name)
        return super().dispatch(request, *args, **kwargs)

    @documented_by_session(
        "push_step",
        SCENARIO,
        "The scenario with its new step.",
        status=201,
        body=STEP,
        errors=(404, 409),
    )
    def post(self, request: Request, name: str) -> Response:
        """Add a step at the end; the state of the other steps is kept."""
        store, step = self.store(), self.read_json()
        check_step(step)
        return Response(dump(store.push(name, step)), status=201)
