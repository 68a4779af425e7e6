"""The page on which a request is tried: which step would answer, why not the others, and every
byte that would be sent. Nothing is consumed, counted or journalled by it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from scenarios_app.admin.site import may_see_journal
from scenarios_app.admin.trial import (
    FORM,
    RAW,
    FormOfRequest,
    Tried,
    TryForm,
    form_of,
    number_in,
    tried,
)
from scenarios_app.catalog import catalog
from scenarios_app.control.explain import explain_call
from scenarios_app.engine.conditions.match import ConditionResult
from scenarios_app.engine.conditions.messages import MessageCondition
from scenarios_app.engine.conditions.tools import OfferedToolCondition
from scenarios_app.engine.scenario import Scenario as Compiled
from scenarios_app.journal import journal
from scenarios_app.models import Scenario, ServedRequest
from scenarios_app.play.conversation import raw_call, sample_call
from scenarios_app.serving.explain import ExplainedStep, Explanation
from scenarios_app.serving.reply import Frame, Reply
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import wires_by_name

# So many steps are shown: the one that answers, then those that come closest.
SHOWN = 30
_LONGEST = 20_000
STATES = ("wins", "matches", "misses")
# Why a scenario goes before another one that matches as well.
REASONS = {
    "priority": "higher priority",
    "particularity": "more specific match",
    "name": "same priority, and its name comes first",
}


@dataclass(frozen=True, slots=True)
class Card:
    """One step; `state` is wins, matches or misses."""

    step: ExplainedStep
    state: str
    url: str | None

    @property
    def failed(self) -> list[ConditionResult]:
        return [condition for condition in self.step.conditions if not condition.ok]


@dataclass(frozen=True, slots=True)
class GoesFirst:
    """Another scenario that answers the request. `reason` says why it goes first; empty if the
    scenario that is tried alone does not match."""

    scenario: str
    url: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Line:
    """What leaves in one piece, so many milliseconds after the request."""

    ms: int
    text: str


@dataclass(frozen=True, slots=True)
class Bytes:
    """What one provider's client would get, streamed and whole."""

    name: str
    status: int | None
    streamed: tuple[Line, ...]
    whole: str
    cut: bool


def try_page(request: HttpRequest, admin: Any) -> HttpResponse:
    """The form, and below or beside it what would happen."""
    served = _served(request.GET.get("request", "")) if may_see_journal(request) else None
    posted = request.method == "POST"
    given = request.POST if posted else request.GET
    instead = tried(given.dict())
    only = instead.name if instead else given.get("scenario", "")
    described = form_of(served) if served else None
    initial = {} if posted else _initial(only, served, described, instead)
    form = TryForm(request.POST) if posted else TryForm(initial=initial)
    page = {"described": described, "raw_only": served is not None and described is None}
    return _page(request, admin, form, only=only, served=served, instead=instead, **page)


def try_edits(request: HttpRequest, admin: Any, hidden: Mapping[str, str]) -> HttpResponse:
    """The page for edits that nobody has saved, with the request tried that their first step asks
    for."""
    instead = tried(hidden)
    first: dict[str, Any] = {
        "mode": FORM,
        "provider": next(iter(wires_by_name())),
        "model": "gpt-4o",
    }
    first |= {"turn": 1, "stream": True}
    asked = first | first_step(instead.scenarios[-1] if instead else None)
    only = instead.name if instead else ""
    return _page(request, admin, TryForm(asked), only=only, served=None, instead=instead)


def _page(
    request: HttpRequest,
    admin: Any,
    form: TryForm,
    *,
    only: str,
    served: ServedRequest | None,
    instead: Tried | None,
    **more: Any,
) -> HttpResponse:
    context = {
        **more,
        **admin.admin_site.each_context(request),
        "title": "Try it",
        "form": form,
        "served": served,
        "scenario": only,
        "instead": instead,
    }
    if form.is_bound and form.is_valid():
        context |= _tried(form, served, only=only, instead=instead)
    return TemplateResponse(request, "scenarios_app/admin/try.html", context)


def _tried(
    form: TryForm, served: ServedRequest | None, *, only: str, instead: Tried | None
) -> dict[str, Any]:
    given = form.cleaned_data
    session = given["session"].strip()
    if form.is_raw:
        headers = served.request_headers if served else {}
        calls = {"": raw_call(given["path"], given["body"], headers=headers, session=session)}
        chosen = ""
    else:
        asked = form.asked()
        calls = {
            name: sample_call(wire.sample(asked), session=session)
            for name, wire in wires_by_name().items()
        }
        chosen = given["provider"]
    scenarios = instead.scenarios if instead else ()
    found = {key: explain_call(call, replacements=scenarios) for key, call in calls.items()}
    explanation = found[chosen]
    cards = list(_cards(explanation, only, instead))
    first = _goes_first(explanation, cards, only)
    alone = instead.scenarios[-1] if instead else catalog.snapshot().index.by_name.get(only)
    if first and first.reason and alone:
        found = {key: explain_call(call, only=alone) for key, call in calls.items()}
        explanation = found[chosen]
    return {
        "explanation": explanation,
        "first": first,
        "cards": [card for card in cards[:SHOWN] if card.state != "misses"],
        "misses": [card for card in cards[:SHOWN] if card.state == "misses"],
        "left": max(len(cards) - SHOWN, 0),
        "answer": _decision(explanation),
        "told": _told(explanation),
        "violations": _violations(explanation),
        "bytes": [_bytes(key, found[key], calls[key]) for key in _first(chosen, found)],
        "chosen": chosen,
    }


def _first(chosen: str, found: dict[str, Explanation]) -> list[str]:
    return sorted(found, key=lambda key: key != chosen)


def _cards(explanation: Explanation, only: str, instead: Tried | None) -> Iterator[Card]:
    steps = [step for step in explanation.steps if not only or step.scenario == only]
    urls = _urls({step.scenario for step in steps})
    if instead and instead.url:
        urls[instead.name] = instead.url
    order = {step.key: number for number, step in enumerate(steps)}

    def closeness(card: Card) -> tuple[int, int, bool, int]:
        step = card.step
        place = order[step.key] if step.near is None else step.near
        return (STATES.index(card.state), len(card.failed), step.near is None, place)

    yield from sorted(
        (Card(step, _state(step), urls.get(step.scenario)) for step in steps), key=closeness
    )


def _state(step: ExplainedStep) -> str:
    return "wins" if step.wins else "matches" if step.matches else "misses"


def _goes_first(explanation: Explanation, cards: Sequence[Card], only: str) -> GoesFirst | None:
    """The other scenario that answers where one alone is tried; None without one."""
    decision = explanation.decision
    if not only or decision is None or decision.scenario is None:
        return None
    winner = decision.scenario
    if winner.name == only:
        return None
    url = next(iter(_urls([winner.name]).values()), None)
    beaten = next((card.step.conditions[-1] for card in cards if card.state == "matches"), None)
    return GoesFirst(winner.name, url, REASONS.get(beaten.field, "") if beaten else "")


def _urls(names: Iterable[str]) -> dict[str, str]:
    rows = Scenario.objects.filter(name__in=names).values_list("name", "pk")
    return {name: reverse("admin:scenarios_app_scenario_change", args=(pk,)) for name, pk in rows}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the step would say, or else the status that it fails with, None where nothing is sent;
    `cut` where it breaks off."""

    scenario: str
    step: str
    said: str
    status: int | None
    cut: bool
    fallback: bool


def _told(explanation: Explanation) -> Answer | None:
    decision, reply = explanation.decision, explanation.reply
    if decision is None or decision.scenario is None or decision.step is None:
        return None
    return Answer(
        scenario=decision.scenario.name,
        step=decision.step.label,
        said=reply.said if reply.status < 400 else "",
        status=reply.status if reply.started else None,
        cut=reply.ending.value == "cut",
        fallback=decision.fallback,
    )


def _decision(explanation: Explanation) -> str:
    decision = explanation.decision
    if decision is None:
        return "computed" if explanation.reply.status < 400 else "refused"
    if decision.scenario is None:
        return "none" if decision.kind != "in_band" else "in_band"
    return "step"


def _violations(explanation: Explanation) -> Sequence[str]:
    decision = explanation.decision
    return decision.violations if decision else ()


def _bytes(key: str, explanation: Explanation, call: Call) -> Bytes:
    streamed = explanation.streamed
    if explanation.reply.streaming or streamed is None:
        streamed = explanation.reply
    whole = explanation.whole or explanation.reply
    return Bytes(
        name=wires_by_name()[key].title if key else call.path,
        status=explanation.reply.status if explanation.reply.started else None,
        streamed=tuple(_lines(streamed)) if streamed.streaming else (),
        whole=_text(whole.body),
        cut=explanation.reply.ending.value == "cut",
    )


def _lines(reply: Reply) -> Iterator[Line]:
    for frame in reply.frames:
        for text in _events(frame):
            yield Line(round((reply.delay + frame.at) * 1_000), text)


def _events(frame: Frame) -> Iterator[str]:
    text = _text(frame.data).replace("\r\n", "\n")
    for event in text.split("\n\n"):
        if event.strip():
            yield event.strip("\n")


def _text(data: bytes) -> str:
    text = data.decode("utf-8", "backslashreplace")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _served(key: str) -> ServedRequest | None:
    number = number_in(key)
    if number is None:
        return None
    journal.flush()
    return ServedRequest.objects.filter(pk=number).first()


def _initial(
    name: str,
    served: ServedRequest | None,
    described: FormOfRequest | None,
    instead: Tried | None,
) -> dict[str, Any]:
    initial: dict[str, Any] = {"mode": FORM, "turn": 1, "stream": True, "model": "gpt-4o"}
    if served is not None:
        query = "&".join(f"{name}={value}" for name, value in served.query.items())
        path = f"{served.path}?{query}" if query else served.path
        initial |= {"path": path, "body": served.request_body, "session": served.session}
        initial |= described.fields if described else {"mode": RAW}
    else:
        stored = catalog.snapshot().index.by_name.get(name)
        initial |= first_step(instead.scenarios[-1] if instead else stored)
    return initial


def first_step(scenario: Compiled | None) -> dict[str, Any]:
    """What a scenario's first step asks for, so that the page begins with something that fits."""
    if scenario is None or not scenario.steps:
        return {}
    if scenario.select == "first_user_message":
        return {"user": scenario.name}
    match = scenario.steps[0].match
    tools = (condition.name for condition in match.of(OfferedToolCondition))
    found: dict[str, Any] = {"tools": ", ".join(tools)}
    for message in match.of(MessageCondition):
        (text,), role = message.alternatives, message.subject.name
        literal = text.equals or text.startswith or text.contains
        if literal and role in ("user", ""):
            found["user"] = literal
        elif literal and role == "system":
            found["system"] = literal
    for condition in match.model:
        if condition.equals:
            found["model"] = condition.equals
            break
    return found
