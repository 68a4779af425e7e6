"""Explains which step would answer a request and why, without changing any state."""

import asyncio
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args
from urllib.parse import quote

from asgiref.sync import async_to_sync
from msgspec.structs import replace
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.catalog import catalog
from scenarios_app.control.kit import ControlError, ControlView, MismatchBody, Texts, documented
from scenarios_app.control.matches import call_of
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.matching.index import Index, build_index, overlay
from scenarios_app.engine.matching.select import DecisionKind
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.scenario import Scenario
from scenarios_app.engine.state import is_key_session
from scenarios_app.models import ServedRequest
from scenarios_app.play.player import FixedCatalog
from scenarios_app.serving import archive
from scenarios_app.serving.exchange import SESSION_HEADER
from scenarios_app.serving.explain import ExplainedStep, Explanation, explain
from scenarios_app.serving.read import read_call
from scenarios_app.serving.reply import Reply
from scenarios_app.serving.services import services
from scenarios_app.serving.transports.asgi_scope import SAFE_IN_PATH, make_call, read_headers
from scenarios_app.wire.base import Call, encode_json
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import find_target, is_provider_path

KINDS = (*get_args(DecisionKind), "computed", "refused")


class WinnerBody(Shape):
    """The step that would answer."""

    scenario = Text(help_text="The scenario's name.")
    step = Text(allow_null=True, help_text="The step; null if the scenario has none for this turn.")


class ConditionBody(MismatchBody):
    """A condition of a step: the expected and the actual value, and whether it holds."""

    ok = Flag(help_text="True if the condition holds.")


class ExplainedStepBody(Shape):
    """A step, and its conditions on this request."""

    scenario = Text(help_text="The scenario's name.")
    step = Text(help_text="The step's name, or its number from 1.")
    wins = Flag(help_text="True if this step answers.")
    matches = Flag(
        help_text="True if it matches. If another step wins, the last condition says why."
    )
    conditions = ConditionBody(many=True, help_text="Expected and actual values.")


class SentBody(Shape):
    """An answer to its last byte, the server's own `date` and our `x-mockllm-…` apart. Without a
    status the connection closes before anything is sent. A body that is no UTF-8 text is null, and
    in `base64`."""

    status = Whole(allow_null=True, help_text="The HTTP status.")
    headers = serializers.DictField(child=Text(allow_blank=True), help_text="The headers by name.")
    body = Text(allow_null=True, allow_blank=True, help_text="The body as text.")
    base64 = Text(allow_null=True, help_text="A body that is not UTF-8, as Base64.")
    ending = serializers.ChoiceField(
        ["complete", "cut"], help_text="`cut`: the connection closes after the last byte."
    )
    delay_ms = serializers.FloatField(help_text="Milliseconds before the first byte.")
    duration_ms = serializers.FloatField(help_text="Milliseconds from the first to the last byte.")


class ExplanationBody(Shape):
    """`sent` is what this request would get; `whole` and `streamed` are what the same decision
    comes to either way, where a scenario was looked for."""

    session = Text(help_text="The session of the request.")
    provider = Text(help_text="The provider whose API is called.")
    kind = serializers.ChoiceField(KINDS, help_text="The kind of answer.")
    winner = WinnerBody(allow_null=True, help_text="The step that answers; null for none.")
    violations = Texts(help_text="Expectations that the request violates.")
    steps = ExplainedStepBody(many=True, help_text="Every step that was checked.")
    sent = SentBody(help_text="The answer to this request.")
    whole = SentBody(allow_null=True, help_text="The same answer, not streamed.")
    streamed = SentBody(allow_null=True, help_text="The same answer as a stream.")


def explanation_body(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as an ExplanationBody."""
    decision = explanation.decision
    scenario = decision.scenario if decision else None
    winner = decision.step if decision else None
    computed = "computed" if explanation.reply.status < 400 else "refused"
    return {
        "session": explanation.session,
        "provider": explanation.provider,
        "kind": decision.kind if decision else computed,
        "winner": scenario and {"scenario": scenario.name, "step": winner and winner.label},
        "violations": list(decision.violations) if decision else [],
        "steps": [_step_body(step) for step in explanation.steps],
        "sent": _reply_fields(explanation.reply),
        "whole": explanation.whole and _reply_fields(explanation.whole),
        "streamed": explanation.streamed and _reply_fields(explanation.streamed),
    }


def _step_body(step: ExplainedStep) -> dict[str, Any]:
    body = {name: getattr(step, name) for name in ("scenario", "step", "wins", "matches")}
    return {**body, "conditions": [asdict(condition) for condition in step.conditions]}


def _reply_fields(reply: Reply) -> dict[str, Any]:
    """Return a reply as a SentBody."""
    body = reply.body
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = None
    return {
        "status": reply.status if reply.started else None,
        "headers": dict(reply.headers),
        "body": text,
        "base64": None if text is not None else b64encode(body).decode(),
        "ending": "cut" if reply.cut else "complete",
        "delay_ms": reply.delay * 1000,
        "duration_ms": reply.seconds * 1000,
    }


class ExplainBody(Shape):
    """A request as a client would send it."""

    method = Text(required=False, default="POST", help_text="The HTTP method.")
    path = Text(help_text="The path, with its query.")
    headers = serializers.DictField(
        child=Text(allow_blank=True), required=False, default=dict, help_text="The headers by name."
    )
    body = serializers.JSONField(
        required=False, allow_null=True, help_text="The body as JSON; a string is sent unchanged."
    )


class ExplainView(ControlView):
    @documented("explain", ExplanationBody, "The answer and the reasons for it.", body=ExplainBody)
    def post(self, request: Request) -> Response:
        """Explain a request. Nothing is consumed, counted or journalled."""
        return Response(explain_request(self.read_body(ExplainBody)))


def explain_request(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an ExplanationBody for the request of an ExplainBody; raises ControlError 400."""
    return explanation_body(explain_call(_build_call(fields)))


def explain_row(row: ServedRequest) -> dict[str, Any]:
    """Return an ExplanationBody for the same request in the same session, as it is now."""
    return explanation_body(explain_call(replace(call_of(row), session=row.session)))


@dataclass(frozen=True, slots=True)
class _OverlaidCatalog:
    """The catalog with some scenarios replaced by name."""

    scenarios: Sequence[Scenario]

    def index_for(self, documents: Mapping[str, Json], version: int) -> Index:
        return overlay(catalog.index_for(documents, version), self.scenarios)


def explain_call(
    call: Call, *, replacements: Sequence[Scenario] = (), only: Scenario | None = None
) -> Explanation:
    """Explain the answer that a call would get now; callable from any thread. `replacements`
    replace scenarios of the same names; with `only` there is no other scenario."""
    current = services()
    session = current.pipeline.new_exchange(call).session
    state = MemoryState.of_session(
        async_to_sync(current.state.read)(session),
        async_to_sync(current.state.scenarios_of)(session),
        _stored_responses(call, session),
    )
    overlaid = _OverlaidCatalog(replacements) if replacements else catalog
    visible = FixedCatalog(build_index([only])) if only else overlaid
    options = current.pipeline.options
    return asyncio.run(explain(call, catalog=visible, state=state, options=options))


def _stored_responses(call: Call, session: str) -> Mapping[str, bytes | None]:
    """Return the stored responses that a call refers to, by id. A missing one is None."""
    current, target = services(), find_target(call)
    archival = target.endpoint.archival if target and target.endpoint else None
    if target is None or archival is None:
        return {}
    try:
        request = read_call(call, target, current.pipeline.options)
    except WireError:
        return {}
    return async_to_sync(archive.recall_archived)(request, archival, session, archive=current.state)


def _build_call(fields: Mapping[str, Any]) -> Call:
    """Return the call of an ExplainBody. Raises ControlError 400 for a path that no provider
    answers."""
    path, _, query = fields["path"].partition("?")
    path = quote(path, safe=SAFE_IN_PATH + "%")
    if not is_provider_path(path):
        raise ControlError(400, f"path: no provider answers {path}", field="path")
    headers_by_name = {name.lower(): value for name, value in fields["headers"].items()}
    session = headers_by_name.get(SESSION_HEADER, "").strip()
    # Clients may not claim a session that is named by a key; an explanation may read any.
    session = headers_by_name.pop(SESSION_HEADER).strip() if is_key_session(session) else ""
    headers = read_headers((k.encode(), v.encode()) for k, v in headers_by_name.items())
    body = "" if fields.get("body") is None else fields["body"]
    data = body.encode() if isinstance(body, str) else encode_json(body)
    call = make_call(fields["method"], path, query=query.encode(), headers=headers, body=data)
    return replace(call, session=session)
