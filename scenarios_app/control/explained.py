"""An explanation as JSON."""

from base64 import b64encode
from typing import Any, get_args

from rest_framework import serializers

from mockllm_site.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.control.shapes import MismatchBody
from scenarios_app.serving.explaining import ExplainedStep, Explanation
from scenarios_app.serving.reply import Reply
from scenarios_app.serving.selecting import Kind

KINDS = (*get_args(Kind), "computed", "refused")


class WinnerBody(Shape):
    scenario = Text()
    step = Text(allow_null=True, help_text="Null where the scenario has no step for this turn.")


class ConditionBody(MismatchBody):
    """What a step wants, what it got, and whether that will do."""

    ok = Flag()


class ExplainedStepBody(Shape):
    scenario = Text()
    step = Text()
    wins = Flag()
    conditions = ConditionBody(many=True)


class SentBody(Shape):
    """An answer to its last byte, the server's own `date` and our `x-mockllm-…` apart. Without a
    status the connection closes before anything is sent. A body that is no UTF-8 text is null, and
    in `base64`."""

    status = Whole(allow_null=True)
    headers = serializers.DictField(child=Text(allow_blank=True))
    body = Text(allow_null=True, allow_blank=True)
    base64 = Text(allow_null=True)
    ending = serializers.ChoiceField(
        ["complete", "cut"], help_text="`cut`: the connection closes after the last byte."
    )
    delay_ms = serializers.FloatField(help_text="Before the first byte.")
    duration_ms = serializers.FloatField(help_text="From the first byte to the last.")


class ExplanationBody(Shape):
    """`sent` is what this request would get; `whole` and `streamed` are what the same choice comes
    to either way, where a scenario was looked for."""

    session = Text()
    provider = Text()
    kind = serializers.ChoiceField(KINDS)
    winner = WinnerBody(allow_null=True)
    violations = serializers.ListField(child=Text())
    steps = ExplainedStepBody(many=True)
    sent = SentBody()
    whole = SentBody(allow_null=True)
    streamed = SentBody(allow_null=True)


def explanation_body(found: Explanation) -> dict[str, Any]:
    decision = found.chosen.decision if found.chosen else None
    scenario = decision.scenario if decision else None
    step = decision.step if decision else None
    return {
        "session": found.session,
        "provider": found.provider,
        "kind": _kind(found),
        "winner": scenario and {"scenario": scenario.name, "step": step.label if step else None},
        "violations": list(decision.violations) if decision else [],
        "steps": [_step(one) for one in found.steps],
        "sent": _sent(found.reply),
        "whole": found.whole and _sent(found.whole),
        "streamed": found.streamed and _sent(found.streamed),
    }


def _kind(found: Explanation) -> str:
    if found.chosen is not None:
        return found.chosen.kind
    return "computed" if found.reply.status < 400 else "refused"


def _step(step: ExplainedStep) -> dict[str, Any]:
    return {
        "scenario": step.scenario,
        "step": step.step,
        "wins": step.wins,
        "conditions": [
            {"field": c.field, "expected": c.expected, "actual": c.actual, "ok": c.ok}
            for c in step.conditions
        ],
    }


def _sent(reply: Reply) -> dict[str, Any]:
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
        "ending": reply.ending.value,
        "delay_ms": reply.delay * 1000,
        "duration_ms": reply.frames[-1].at * 1000 if reply.frames else 0.0,
    }
