"""The tab *One request*: shows which step would answer a request, why others would not, and the
bytes that would be sent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from scenarios_app.admin.dry_run.inputs import (
    FORM,
    RAW,
    DryRunScenario,
    PrefilledForm,
    TryForm,
    prefilled_form,
)
from scenarios_app.admin.pages import find_row, scenario_urls
from scenarios_app.admin.site import may_see_journal
from scenarios_app.control.explain import explain_call
from scenarios_app.engine.conditions.match import ConditionResult
from scenarios_app.engine.conditions.messages import MessageCondition
from scenarios_app.engine.conditions.tools import OfferedToolCondition
from scenarios_app.engine.scenario import Scenario as Compiled
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from scenarios_app.play.conversation import path_with_query, raw_call, sample_call
from scenarios_app.serving.explain import ExplainedStep, Explanation
from scenarios_app.serving.reply import Reply
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import wires_by_name

# How many steps are shown: the one that answers, then the closest ones.
MAX_STEPS_SHOWN = 30
_MAX_TEXT_CHARS = 20_000
STATES = ("wins", "matches", "misses")
# Why a scenario is tried before another one that matches too.
REASONS = {
    "priority": "higher priority",
    "particularity": "more specific match",
    "name": "same priority, and its name comes first",
}


@dataclass(frozen=True, slots=True)
class StepCard:
    """A step in the results of a dry run, with the address of its scenario, None without a page."""

    step: ExplainedStep
    url: str | None

    @property
    def state(self) -> str:
        """One of STATES: the result of the step, which its CSS class and label show."""
        return "wins" if self.step.wins else "matches" if self.step.matches else "misses"

    @property
    def failed_conditions(self) -> list[ConditionResult]:
        return [condition for condition in self.step.conditions if not condition.ok]


@dataclass(frozen=True, slots=True)
class PrecedingScenario:
    """Another scenario that answers the request first. `reason` says why; it is empty if the tried
    scenario does not match at all."""

    scenario: str
    url: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class ResponseBytes:
    """The response for one provider's client, streamed and whole. Each streamed event comes with
    the milliseconds after the request at which it is sent."""

    name: str
    status: int | None
    streamed: tuple[tuple[int, str], ...]
    whole: str
    cut: bool


def request_context(
    request: HttpRequest, owner: Any, fields: Mapping[str, str], tried: DryRunScenario
) -> dict[str, Any]:
    """Return the form, filled from the journal entry `?request=`, if any, and the result of a post.
    A post without the form's fields, such as from another tab, tries a request for the first step
    of `tried`."""
    served = None
    if "request" in request.GET and may_see_journal(request):
        journal.flush()
        served = find_row(ServedRequest, request.GET["request"])
    prefilled = prefilled_form(served) if served else None
    initial = _initial_values(tried, served, prefilled)
    if request.method == "POST" and not fields.keys().isdisjoint(TryForm.base_fields):
        form = TryForm(fields)
    elif request.method == "POST" and tried.name:
        form = TryForm({"provider": next(iter(wires_by_name())), **initial})
    else:
        form = TryForm(initial=initial)
    context = {
        "form": form,
        "served": served,
        "described": prefilled,
        "raw_only": served is not None and prefilled is None,
    }
    if form.is_bound and form.is_valid():
        context |= _dry_run(form, served, tried)
    return context


def _dry_run(form: TryForm, served: ServedRequest | None, tried: DryRunScenario) -> dict[str, Any]:
    """Return the context of the results: the steps that match the form's request, and its response
    on each API. If another scenario answers first, the responses are those of `tried` alone."""
    values = form.cleaned_data
    session = values["session"].strip()
    if form.is_raw:
        headers = served.request_headers if served else {}
        calls = {"": raw_call(values["path"], values["body"], headers=headers, session=session)}
        chosen = ""
    else:
        sample = form.to_sample()
        calls = {
            name: sample_call(wire.sample(sample), session=session)
            for name, wire in wires_by_name().items()
        }
        chosen = values["provider"]
    explanations = {
        key: explain_call(call, replacements=tried.scenarios) for key, call in calls.items()
    }
    explanation = explanations[chosen]
    cards = _step_cards(explanation, tried)
    first = _find_preceding(explanation, cards, tried.name)
    if first and first.reason and (alone := tried.compiled):
        explanations = {key: explain_call(call, only=alone) for key, call in calls.items()}
        explanation = explanations[chosen]
    return {
        "explanation": explanation,
        "first": first,
        "cards": [card for card in cards[:MAX_STEPS_SHOWN] if card.state != "misses"],
        "misses": [card for card in cards[:MAX_STEPS_SHOWN] if card.state == "misses"],
        "left": max(len(cards) - MAX_STEPS_SHOWN, 0),
        "answer": _decision_kind(explanation),
        "told": _answer_summary(explanation),
        "violations": explanation.decision.violations if explanation.decision else (),
        "bytes": [
            _response_bytes(key, explanations[key], calls[key])
            for key in sorted(explanations, key=lambda key: key != chosen)
        ],
    }


def _step_cards(explanation: Explanation, tried: DryRunScenario) -> list[StepCard]:
    """Return the steps of `tried`, or of all scenarios if it has no name: the one that answers
    first, then the closest ones."""
    steps = [step for step in explanation.steps if tried.name in ("", step.scenario)]
    urls = scenario_urls({step.scenario for step in steps})
    if tried.url:
        urls[tried.name] = tried.url

    def closeness(card: StepCard) -> tuple[int, int, bool, int]:
        """Return the sort key of a card: winner, matching steps, then the closest."""
        near = card.step.near
        return STATES.index(card.state), len(card.failed_conditions), near is None, near or 0

    return sorted((StepCard(step, urls.get(step.scenario)) for step in steps), key=closeness)


def _find_preceding(
    explanation: Explanation, cards: Sequence[StepCard], only: str
) -> PrecedingScenario | None:
    """Return the scenario that answers in place of `only`, the one that is tried, or None. With
    `only` "" all scenarios are tried, and none precedes."""
    decision = explanation.decision
    if not only or decision is None or decision.scenario is None:
        return None
    winner = decision.scenario.name
    if winner == only:
        return None
    beaten = next((card.step.conditions[-1] for card in cards if card.state == "matches"), None)
    reason = REASONS.get(beaten.field, "") if beaten else ""
    return PrecedingScenario(winner, scenario_urls([winner]).get(winner), reason)


@dataclass(frozen=True, slots=True)
class AnswerSummary:
    """The text of the answer, or the status of a failure, None if nothing is sent. `cut` is true if
    the answer breaks off."""

    scenario: str
    step: str
    said: str
    status: int | None
    cut: bool
    fallback: bool


def _answer_summary(explanation: Explanation) -> AnswerSummary | None:
    """Return the summary of the answer, or None if no step answers."""
    decision, reply = explanation.decision, explanation.reply
    if decision is None or decision.scenario is None or decision.step is None:
        return None
    return AnswerSummary(
        scenario=decision.scenario.name,
        step=decision.step.label,
        said=reply.preview if reply.status < 400 else "",
        status=reply.status if reply.started else None,
        cut=reply.cut,
        fallback=decision.fallback,
    )


def _decision_kind(explanation: Explanation) -> str:
    """Return the word by which the template chooses how it shows the result: `step`, `in_band`,
    `none`, or without a decision `computed` or `refused`."""
    decision = explanation.decision
    if decision is None:
        return "computed" if explanation.reply.status < 400 else "refused"
    if decision.scenario is None:
        return "none" if decision.kind != "in_band" else "in_band"
    return "step"


def _response_bytes(key: str, explanation: Explanation, call: Call) -> ResponseBytes:
    """Return the response for the provider `key`; "" stands for a raw request."""
    reply, streamed = explanation.reply, explanation.streamed
    if reply.streaming or streamed is None:
        streamed = reply
    whole = explanation.whole or reply
    return ResponseBytes(
        name=wires_by_name()[key].title if key else call.path,
        status=reply.status if reply.started else None,
        streamed=tuple(_timed_events(streamed)) if streamed.streaming else (),
        whole=_decode_shortened(whole.body),
        cut=reply.cut,
    )


def _timed_events(reply: Reply) -> Iterator[tuple[int, str]]:
    """Yield each event of a stream with its time in milliseconds."""
    for frame in reply.frames:
        ms = round((reply.delay + frame.at) * 1_000)
        text = _decode_shortened(frame.data).replace("\r\n", "\n")
        yield from ((ms, event.strip("\n")) for event in text.split("\n\n") if event.strip())


def _decode_shortened(data: bytes) -> str:
    """Return bytes as text, cut after _MAX_TEXT_CHARS."""
    text = data.decode("utf-8", "backslashreplace")
    return text if len(text) <= _MAX_TEXT_CHARS else f"{text[:_MAX_TEXT_CHARS]}…"


def _initial_values(
    tried: DryRunScenario,
    served: ServedRequest | None = None,
    prefilled: PrefilledForm | None = None,
) -> dict[str, Any]:
    """Return the form's first values: those of the journal entry `served`, else of a request for
    the scenario's first step."""
    initial: dict[str, Any] = {"mode": FORM, "turn": 1, "stream": True, "model": "gpt-4o"}
    if served is None:
        return initial | request_for_first_step(tried.compiled)
    initial |= {"path": path_with_query(served), "body": served.request_body}
    initial |= {"session": served.session}
    return {**initial, **(prefilled.fields if prefilled else {"mode": RAW})}


def request_for_first_step(scenario: Compiled | None) -> dict[str, Any]:
    """Return form fields of a request for the scenario's first step, from the conditions that the
    form can meet; {} without steps."""
    if scenario is None or not scenario.steps:
        return {}
    if scenario.select == "first_user_message":
        return {"user": scenario.name}
    match = scenario.steps[0].match
    tools = (condition.name for condition in match.of(OfferedToolCondition))
    fields: dict[str, Any] = {"tools": ", ".join(tools)}
    for message in match.of(MessageCondition):
        (text,), role = message.alternatives, message.subject.name
        literal = text.equals or text.startswith or text.contains
        if literal and role in ("user", ""):
            fields["user"] = literal
        elif literal and role == "system":
            fields["system"] = literal
    for condition in match.alternatives("model"):
        if condition.equals:
            fields["model"] = condition.equals
            break
    return fields
