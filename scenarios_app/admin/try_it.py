"""*Try it*: shows which step would answer a request, why others would not, and the bytes that would
be sent. No step is used up, and nothing is counted or journalled."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse

from scenarios_app.admin.dry_run import (
    FORM,
    RAW,
    DryRunScenario,
    PrefilledForm,
    TryForm,
    prefilled_form,
    scenario_from_fields,
)
from scenarios_app.admin.pages import find_row, render_page, scenario_urls
from scenarios_app.admin.site import may_see_journal
from scenarios_app.catalog import catalog
from scenarios_app.control.explain import explain_call
from scenarios_app.engine.conditions.match import ConditionResult
from scenarios_app.engine.conditions.messages import MessageCondition
from scenarios_app.engine.conditions.tools import OfferedToolCondition
from scenarios_app.engine.scenario import Scenario as Compiled
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from scenarios_app.play.conversation import raw_call, sample_call
from scenarios_app.serving.explain import ExplainedStep, Explanation
from scenarios_app.serving.reply import Frame, Reply
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
    """One step; `state` is wins, matches or misses."""

    step: ExplainedStep
    state: str
    url: str | None

    @property
    def failed(self) -> list[ConditionResult]:
        return [condition for condition in self.step.conditions if not condition.ok]


@dataclass(frozen=True, slots=True)
class PrecedingScenario:
    """Another scenario that answers the request first.

    `reason` says why; it is empty if the tried scenario does not match at all.
    """

    scenario: str
    url: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class TimedLine:
    """A piece of the response, and the milliseconds after the request at which it is sent."""

    ms: int
    text: str


@dataclass(frozen=True, slots=True)
class ResponseBytes:
    """The response for one provider's client, streamed and whole."""

    name: str
    status: int | None
    streamed: tuple[TimedLine, ...]
    whole: str
    cut: bool


def try_page(request: HttpRequest, owner: Any) -> HttpResponse:
    """Show the form, and the result of a posted or given request."""
    owner.require(request, "view")
    served = _find_entry(request.GET.get("request", "")) if may_see_journal(request) else None
    is_post = request.method == "POST"
    fields = request.POST if is_post else request.GET
    instead = scenario_from_fields(fields.dict())
    only = instead.name if instead else fields.get("scenario", "")
    prefilled = prefilled_form(served) if served else None
    initial = {} if is_post else _initial(only, served, prefilled, instead)
    form = TryForm(request.POST) if is_post else TryForm(initial=initial)
    page = {"described": prefilled, "raw_only": served is not None and prefilled is None}
    return _page(request, owner, form, only=only, served=served, instead=instead, **page)


def try_edits(request: HttpRequest, owner: Any, hidden: Mapping[str, str]) -> HttpResponse:
    """Show the page for unsaved edits, with a request that matches their first step."""
    instead = scenario_from_fields(hidden)
    only = instead.name if instead else ""
    initial = {"provider": next(iter(wires_by_name())), **_initial(only, None, None, instead)}
    return _page(request, owner, TryForm(initial), only=only, served=None, instead=instead)


def _page(
    request: HttpRequest,
    owner: Any,
    form: TryForm,
    *,
    only: str,
    served: ServedRequest | None,
    instead: DryRunScenario | None,
    **more: Any,
) -> HttpResponse:
    context = {
        **more,
        "title": "Try it",
        "form": form,
        "served": served,
        "scenario": only,
        "instead": instead,
    }
    if form.is_bound and form.is_valid():
        context |= _dry_run(form, served, only=only, instead=instead)
    return render_page(request, owner, "try.html", context)


def _dry_run(
    form: TryForm, served: ServedRequest | None, *, only: str, instead: DryRunScenario | None
) -> dict[str, Any]:
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
    scenarios = instead.scenarios if instead else ()
    explanations = {key: explain_call(call, replacements=scenarios) for key, call in calls.items()}
    explanation = explanations[chosen]
    cards = list(_cards(explanation, only, instead))
    first = _find_preceding(explanation, cards, only)
    alone = instead.scenarios[-1] if instead else catalog.snapshot().index.by_name.get(only)
    if first and first.reason and alone:
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
        "violations": _violations(explanation),
        "bytes": [
            _response_bytes(key, explanations[key], calls[key])
            for key in _chosen_first(chosen, explanations)
        ],
        "chosen": chosen,
    }


def _chosen_first(chosen: str, explanations: dict[str, Explanation]) -> list[str]:
    return sorted(explanations, key=lambda key: key != chosen)


def _cards(
    explanation: Explanation, only: str, instead: DryRunScenario | None
) -> Iterator[StepCard]:
    steps = [step for step in explanation.steps if not only or step.scenario == only]
    urls = scenario_urls({step.scenario for step in steps})
    if instead and instead.url:
        urls[instead.name] = instead.url
    order = {step.key: number for number, step in enumerate(steps)}

    def closeness(card: StepCard) -> tuple[int, int, bool, int]:
        step = card.step
        place = order[step.key] if step.near is None else step.near
        return (STATES.index(card.state), len(card.failed), step.near is None, place)

    yield from sorted(
        (StepCard(step, _state(step), urls.get(step.scenario)) for step in steps), key=closeness
    )


def _state(step: ExplainedStep) -> str:
    return "wins" if step.wins else "matches" if step.matches else "misses"


def _find_preceding(
    explanation: Explanation, cards: Sequence[StepCard], only: str
) -> PrecedingScenario | None:
    """Return the other scenario that answers when only one is tried, or None."""
    decision = explanation.decision
    if not only or decision is None or decision.scenario is None:
        return None
    winner = decision.scenario
    if winner.name == only:
        return None
    url = scenario_urls([winner.name]).get(winner.name)
    beaten = next((card.step.conditions[-1] for card in cards if card.state == "matches"), None)
    return PrecedingScenario(winner.name, url, REASONS.get(beaten.field, "") if beaten else "")


@dataclass(frozen=True, slots=True)
class AnswerSummary:
    """The text of the answer, or the status of a failure, None if nothing is sent.

    `cut` is true if the answer breaks off.
    """

    scenario: str
    step: str
    said: str
    status: int | None
    cut: bool
    fallback: bool


def _answer_summary(explanation: Explanation) -> AnswerSummary | None:
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
    decision = explanation.decision
    if decision is None:
        return "computed" if explanation.reply.status < 400 else "refused"
    if decision.scenario is None:
        return "none" if decision.kind != "in_band" else "in_band"
    return "step"


def _violations(explanation: Explanation) -> Sequence[str]:
    decision = explanation.decision
    return decision.violations if decision else ()


def _response_bytes(key: str, explanation: Explanation, call: Call) -> ResponseBytes:
    streamed = explanation.streamed
    if explanation.reply.streaming or streamed is None:
        streamed = explanation.reply
    whole = explanation.whole or explanation.reply
    return ResponseBytes(
        name=wires_by_name()[key].title if key else call.path,
        status=explanation.reply.status if explanation.reply.started else None,
        streamed=tuple(_lines(streamed)) if streamed.streaming else (),
        whole=_text(whole.body),
        cut=explanation.reply.cut,
    )


def _lines(reply: Reply) -> Iterator[TimedLine]:
    for frame in reply.frames:
        for text in _events(frame):
            yield TimedLine(round((reply.delay + frame.at) * 1_000), text)


def _events(frame: Frame) -> Iterator[str]:
    text = _text(frame.data).replace("\r\n", "\n")
    for event in text.split("\n\n"):
        if event.strip():
            yield event.strip("\n")


def _text(data: bytes) -> str:
    text = data.decode("utf-8", "backslashreplace")
    return text if len(text) <= _MAX_TEXT_CHARS else f"{text[:_MAX_TEXT_CHARS]}…"


def _find_entry(key: str) -> ServedRequest | None:
    if not key:
        return None
    journal.flush()
    return find_row(ServedRequest, key)


def _initial(
    name: str,
    served: ServedRequest | None,
    prefilled: PrefilledForm | None,
    instead: DryRunScenario | None,
) -> dict[str, Any]:
    initial: dict[str, Any] = {"mode": FORM, "turn": 1, "stream": True, "model": "gpt-4o"}
    if served is not None:
        query = "&".join(f"{name}={value}" for name, value in served.query.items())
        path = f"{served.path}?{query}" if query else served.path
        initial |= {"path": path, "body": served.request_body, "session": served.session}
        initial |= prefilled.fields if prefilled else {"mode": RAW}
    else:
        stored = catalog.snapshot().index.by_name.get(name)
        initial |= request_for_first_step(instead.scenarios[-1] if instead else stored)
    return initial


def request_for_first_step(scenario: Compiled | None) -> dict[str, Any]:
    """Return form fields of a request that matches the scenario's first step."""
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
    for condition in match.model:
        if condition.equals:
            fields["model"] = condition.equals
            break
    return fields
