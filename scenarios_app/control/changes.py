"""Changes of answers: numbers the answers of this process, and breaks or alters some."""

from collections.abc import Mapping
from typing import Any, ClassVar, get_args

import msgspec
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.shapes import Flag, JsonField, Shape, Text, Whole
from scenarios_app.control.kit import (
    ANY_SESSION,
    ControlError,
    ControlView,
    SessionQuery,
    Texts,
    documented,
)
from scenarios_app.control.sessions import find_scenario_session
from scenarios_app.engine.changes import Change, Inside, NumberedAnswer
from scenarios_app.engine.document import load_fault
from scenarios_app.engine.producing.alterations import ALTERATIONS
from scenarios_app.serving.services import services

SHARED_STATE_ERROR = (
    "Answers are numbered in the memory of one process, and several processes of this server "
    "(REDIS_URL) answer. Use a server that has no REDIS_URL."
)
MAX_CHANGES = 1_000
MAX_RESULT_CHARS = 1_000


class FaultField(JsonField):
    """Any JSON, documented as a step's `produce.fault`; `load_fault` validates it later."""

    form: ClassVar[dict[str, Any]] = {"$ref": "#/components/schemas/FaultDocument"}


class ChangeBody(Shape):
    """The change of one answer: a fault or an alteration; or the alteration of a step."""

    answer = Whole(
        min_value=1, required=False, help_text="The answer's number in its session, from 1."
    )
    step = Text(required=False, help_text="Alters all answers of this step; SCENARIO/STEP.")
    fault = FaultField(required=False, help_text="A fault in place of the answer, or inside it.")
    alteration = serializers.ChoiceField(
        list(ALTERATIONS), required=False, help_text="An alteration of the answer."
    )
    nth = Whole(
        min_value=1,
        required=False,
        help_text="Which of the places that can be altered, from 1.",
    )
    inside = serializers.ChoiceField(
        [name for name in get_args(Inside) if name],
        required=False,
        help_text="Where a fault inside the answer begins: the first text or tool call.",
    )


class ChangesBody(Shape):
    """The changes of a session from now on."""

    session = Text(**ANY_SESSION)
    changes = serializers.ListField(
        child=ChangeBody(),
        max_length=MAX_CHANGES,
        help_text="Each is made once; an empty list only numbers the answers.",
    )


class VariantBody(Shape):
    """An alteration that applies to an answer, and what it changes."""

    alteration = Text(help_text="The alteration's name.")
    nth = Whole(help_text="The altered place of the answer, from 1.")
    before = Text(allow_blank=True, help_text="The original words.")
    after = Text(allow_blank=True, help_text="The altered words.")


class ToolResultBody(Shape):
    """A tool result."""

    text = Text(allow_blank=True, help_text="The beginning of the result.")
    is_error = Flag(help_text="True if the client marked it as an error.")


class NumberedAnswerBody(Shape):
    """An answer of a step since the changes were set."""

    session = Text(help_text="The session of the request.")
    number = Whole(help_text="The answer's number in the session, from 1.")
    scenario = Text(help_text="The scenario that answered.")
    step = Text(help_text="The step's name, or its number from 1.")
    provider = Text(help_text="The provider whose API was called.")
    stream = Flag(help_text="True for a stream.")
    socket = Flag(help_text="True if it was sent over a WebSocket.")
    results = ToolResultBody(many=True, help_text="The tool results in the request.")
    text = Text(allow_blank=True, help_text="The answer's text, without the change.")
    calls = Texts(help_text="The called tools, without the change.")
    change = Text(allow_null=True, help_text="The fault or alteration; null for none.")
    before = Text(allow_blank=True, help_text="The original words of an alteration.")
    after = Text(allow_blank=True, help_text="The altered words.")
    variants = VariantBody(many=True, help_text="Alterations that apply to the unchanged answer.")
    equivalent_changes = serializers.DictField(
        child=Text(), help_text="Alterations that the step lists as equivalent, with the reasons."
    )


class NumberedBody(ChangesBody):
    """The changes of a session, or of every session without its own, and the answers since."""

    active = Flag(help_text="True while answers are numbered.")
    answers = NumberedAnswerBody(many=True, help_text="The answers, in the order of choice.")


class AnswerChangesView(ControlView):
    @documented("read_changes", NumberedBody, "The changes and answers.", query=SessionQuery)
    def get(self, request: Request) -> Response:
        """The changes, and the answers since they were set"""
        return Response(_state_body(find_scenario_session(self.query(SessionQuery).get("session"))))

    @documented("set_changes", NumberedBody, "The new changes.", body=ChangesBody, errors=(409,))
    def put(self, request: Request) -> Response:
        """Change single answers of a session, or of every session, in place of the changes that it
        had, and number its answers from 1"""
        fields = self.read_body(ChangesBody)
        changes = [_to_change(number, change) for number, change in enumerate(fields["changes"])]
        if not services().cluster.is_single_process:
            raise ControlError(409, SHARED_STATE_ERROR)
        session = find_scenario_session(fields["session"])
        services().pipeline.changes.start(session, changes)
        return Response(_state_body(session))

    @documented("end_changes", NumberedBody, "Changes and answers.", query=SessionQuery)
    def delete(self, request: Request) -> Response:
        """Drop the changes of a session, or of all sessions"""
        session = find_scenario_session(self.query(SessionQuery).get("session"))
        body = _state_body(session)
        services().pipeline.changes.stop(session)
        return Response(body)


def _to_change(number: int, fields: Mapping[str, Any]) -> Change:
    """Return the change of a ChangeBody at this index; raises ControlError or DocumentError."""
    place = f"changes[{number}]"
    for key, other in (("answer", "step"), ("fault", "alteration")):
        if (key in fields) == (other in fields):
            raise ControlError(400, f"{place}: expected either {key} or {other}", field=place)
    if "step" in fields and "fault" in fields:
        message = f"{place}: a step can be altered only; script its fault in `produce.fault`"
        raise ControlError(400, message, field=place)
    if "fault" in fields:
        loc = ("changes", number, "fault")
        return Change(**{**fields, "fault": load_fault(fields["fault"], loc=loc)})
    return Change(**fields)


def _state_body(session: str | None) -> dict[str, Any]:
    """Return the changes and numbered answers of a session, or of all sessions."""
    changes = services().pipeline.changes
    answers = (answer for answer in changes.answers if session is None or answer.session == session)
    return {
        "active": bool(changes.by_session),
        "session": session,
        "changes": list(map(_change_body, changes.by_session.get(session, ()))),
        "answers": list(map(_answer_body, answers)),
    }


def _change_body(change: Change) -> dict[str, Any]:
    """Return a change as the API writes it."""
    body: dict[str, Any] = {"step": change.step} if change.step else {"answer": change.answer}
    if change.fault is not None:
        body["fault"] = {"kind": change.fault.kind}
    else:
        body |= {"alteration": change.alteration} | ({"nth": change.nth} if change.nth > 1 else {})
    return body | ({"inside": change.inside} if change.inside else {})


def _answer_body(answer: NumberedAnswer) -> dict[str, Any]:
    """Return a numbered answer as the API writes it."""
    results = [
        {"text": result.content[:MAX_RESULT_CHARS], "is_error": result.is_error}
        for result in answer.results
    ]
    variants = [msgspec.structs.asdict(variant) for variant in answer.variants]
    changed = {"change": answer.change_name or None, "results": results, "variants": variants}
    return {name: getattr(answer, name) for name in NumberedAnswerBody._declared_fields} | changed
