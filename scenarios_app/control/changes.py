"""Changes of single answers: numbers the answers of this process, and breaks or alters some."""

from collections.abc import Mapping
from typing import Any, get_args

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.openapi import Form
from mockllm_site.kit.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.control.kit import ControlError, ControlView, documented
from scenarios_app.control.sessions import resolve_scenario_session
from scenarios_app.engine.changes import AnswerChanges, Change, Inside, NumberedAnswer
from scenarios_app.engine.document import load_fault
from scenarios_app.engine.producing.alterations import ALTERATIONS
from scenarios_app.serving.services import services

SHARED_STATE_ERROR = (
    "Answers are numbered in the memory of one process, and several processes of this server "
    "(REDIS_URL) answer. Use a server that has no REDIS_URL."
)
MAX_CHANGES = 1_000
FAULT: Form = {"$ref": "#/components/schemas/FaultDocument"}


@extend_schema_field(FAULT)
class FaultField(serializers.JSONField):
    """A fault, as a step has it."""


class ChangeBody(Shape):
    """The change of one answer: a fault or an alteration."""

    answer = Whole(min_value=1, help_text="The number of the answer in its session, from 1.")
    session = Text(
        required=False,
        allow_null=True,
        default=None,
        help_text="A session's name or API key; null for every session.",
    )
    fault = FaultField(required=False, help_text="The fault that strikes the answer.")
    alteration = serializers.ChoiceField(
        list(ALTERATIONS), required=False, help_text="What is altered in the answer."
    )
    inside = serializers.ChoiceField(
        [name for name in get_args(Inside) if name],
        required=False,
        help_text="Where a fault inside the answer strikes: in its first text or tool call.",
    )


class ChangesBody(Shape):
    """The changes from now on."""

    changes = serializers.ListField(
        child=ChangeBody(),
        max_length=MAX_CHANGES,
        help_text="Each strikes once; an empty list only numbers the answers.",
    )


class NumberedAnswerBody(Shape):
    """An answer of a step since the changes were set."""

    session = Text(help_text="Its session.")
    number = Whole(help_text="Its number there, from 1.")
    scenario = Text(help_text="The scenario that answered.")
    step = Text(help_text="Its step's name, or the number from 1.")
    provider = Text(help_text="By whose API it was asked.")
    stream = Flag(help_text="Whether it was streamed.")
    text = Text(allow_blank=True, help_text="Its text, before any change.")
    calls = serializers.ListField(
        child=Text(), help_text="The tools that it calls, before any change."
    )
    change = Text(
        allow_null=True, help_text="The fault or alteration that struck it; null: none did."
    )


class NumberedBody(ChangesBody):
    """The changes, and the answers since they were set."""

    active = Flag(help_text="Whether answers are being numbered.")
    answers = NumberedAnswerBody(many=True, help_text="In the order in which they were chosen.")


class ChangesView(ControlView):
    @documented("read_changes", answers={200: (NumberedBody, "As they are now.")})
    def get(self, request: Request) -> Response:
        """The changes, and the answers since they were set"""
        return Response(_body(services().pipeline.changes))

    @documented(
        "set_changes", body=ChangesBody, answers={200: (NumberedBody, "As set.")}, errors=(409,)
    )
    def put(self, request: Request) -> Response:
        """Change single answers from now on, in place of the changes set before, and number the
        answers of each session from 1"""
        changes = [
            _change(f"changes[{place}]", fields)
            for place, fields in enumerate(self.read_body(ChangesBody)["changes"])
        ]
        if not services().cluster.is_single_process:
            raise ControlError(409, SHARED_STATE_ERROR)
        services().pipeline.changes.start(changes)
        return Response(_body(services().pipeline.changes))

    @documented("end_changes", answers={200: (NumberedBody, "As they were at the end.")})
    def delete(self, request: Request) -> Response:
        """Change nothing more"""
        body = _body(services().pipeline.changes)
        services().pipeline.changes.stop()
        return Response(body)


def _change(place: str, fields: Mapping[str, Any]) -> Change:
    """Return the change of a ChangeBody; raises ControlError or DocumentError."""
    if ("fault" in fields) == ("alteration" in fields):
        message = f"{place}: expected either fault or alteration"
        raise ControlError(400, message, field=place)
    session = fields["session"]
    return Change(
        fields["answer"],
        None if session is None else resolve_scenario_session(session),
        load_fault(fields["fault"], place=f"{place}.fault") if "fault" in fields else None,
        fields.get("alteration", ""),
        fields.get("inside", ""),
    )


def _body(changes: AnswerChanges) -> dict[str, Any]:
    return {
        "active": bool(changes),
        "changes": list(map(_change_body, changes.changes)),
        "answers": list(map(_answer_body, changes.answers)),
    }


def _change_body(change: Change) -> dict[str, Any]:
    body: dict[str, Any] = {"answer": change.answer, "session": change.session}
    if change.fault is not None:
        body["fault"] = {"kind": change.fault.kind}
    else:
        body["alteration"] = change.alteration
    return body | ({"inside": change.inside} if change.inside else {})


def _answer_body(answer: NumberedAnswer) -> dict[str, Any]:
    struck = answer.change.name if answer.change is not None and answer.changed else None
    return {
        "session": answer.session,
        "number": answer.number,
        "scenario": answer.scenario,
        "step": answer.step,
        "provider": answer.provider,
        "stream": answer.stream,
        "text": answer.text,
        "calls": list(answer.calls),
        "change": struck,
    }
