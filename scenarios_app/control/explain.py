"""What would answer a request and why, without answering it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from asgiref.sync import async_to_sync
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.api.shapes import Shape, Text
from scenarios_app.catalog import catalog
from scenarios_app.control.documented import documented
from scenarios_app.control.errors import ControlError
from scenarios_app.control.explained import ExplanationBody, explanation_body
from scenarios_app.control.view import ControlView
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.index import Index, overlay
from scenarios_app.engine.scenario import Scenario
from scenarios_app.engine.state import SessionState
from scenarios_app.serving.admission import admit
from scenarios_app.serving.calls import SAFE_IN_PATH, make_call
from scenarios_app.serving.explaining import Explanation, explain
from scenarios_app.serving.keeping import keeping, named
from scenarios_app.serving.services import services
from scenarios_app.wire.base import Call, encode_json
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import find, owns


class ExplainBody(Shape):
    """A request as a client would send it."""

    method = Text(required=False, default="POST")
    path = Text(help_text="With its query, if it has one.")
    headers = serializers.DictField(child=Text(allow_blank=True), required=False, default=dict)
    body = serializers.JSONField(
        required=False, allow_null=True, help_text="JSON; a string is sent as it stands."
    )


class ExplainView(ControlView):
    @documented(
        "explain",
        body=ExplainBody,
        answers={200: (ExplanationBody, "What would be answered, and why.")},
    )
    def post(self, request: Request) -> Response:
        """Explain a request. Nothing is consumed, counted or journalled."""
        return Response(explanation_body(explained_now(_call(self.given_as(ExplainBody)))))


@dataclass(frozen=True, slots=True)
class _AsNow:
    """A session's state at one moment, for a loop that is not the one which serves."""

    state: SessionState
    own: tuple[int, Mapping[str, Json]]
    kept: Mapping[str, bytes | None]

    async def read(self, session: str) -> SessionState:
        return self.state

    async def scenarios_of(self, session: str) -> tuple[int, Mapping[str, Json]]:
        return self.own

    async def recall_response(self, session: str, name: str) -> bytes | None:
        return self.kept.get(name)


@dataclass(frozen=True, slots=True)
class _With:
    """The catalog with some scenarios in place of those of their names."""

    scenarios: Sequence[Scenario]

    def index_for(self, documents: Mapping[str, Json], version: int) -> Index:
        return overlay(catalog.index_for(documents, version), self.scenarios)


def explained_now(call: Call, *, instead: Sequence[Scenario] = ()) -> Explanation:
    """What would happen to a call at this moment, in whatever thread one asks; `instead` take the
    place of the scenarios of their names."""
    here = services()
    session = here.pipeline.exchange(call).session
    known = _AsNow(
        async_to_sync(here.state.read)(session),
        async_to_sync(here.state.scenarios_of)(session),
        _kept(call, session),
    )
    options = here.pipeline.options
    seen = _With(instead) if instead else catalog
    return asyncio.run(explain(call, catalog=seen, state=known, options=options))


def _kept(call: Call, session: str) -> Mapping[str, bytes | None]:
    """The answers that a call names, where its wire keeps any."""
    here, target = services(), find(call)
    wire = keeping(target.wire) if target else None
    if target is None or wire is None:
        return {}
    try:
        request = admit(call, target, here.pipeline.options)
    except WireError:
        return {}
    return async_to_sync(named)(request, wire, session, archive=here.state)


def _call(asked: Mapping[str, Any]) -> Call:
    path, _, query = asked["path"].partition("?")
    path = quote(path, safe=SAFE_IN_PATH + "%")
    if not owns(path):
        raise ControlError(400, f"path: no provider answers {path}", field="path")
    headers = [(name.encode(), value.encode()) for name, value in asked["headers"].items()]
    body = asked.get("body")
    match body:
        case None:
            data = b""
        case str():
            data = body.encode()
        case _:
            data = encode_json(body)
    return make_call(asked["method"], path, query=query.encode(), headers=headers, body=data)
