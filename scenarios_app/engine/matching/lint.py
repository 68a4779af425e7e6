"""What is suspicious in scenarios that are right: steps that never answer, or answer too much."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

from scenarios_app.engine.matching.ascii_classes import narrow_classes
from scenarios_app.engine.matching.checks import TextCheck, ToolCallCheck, ToolResultCheck
from scenarios_app.engine.matching.conditions import CompiledText, quote
from scenarios_app.engine.matching.implication import excludes, match_implies
from scenarios_app.engine.matching.layer import Entry, entries_of
from scenarios_app.engine.matching.match import CompiledMatch
from scenarios_app.engine.matching.precedence import RULES, least_particular, shadowing
from scenarios_app.engine.matching.request_view import sanitise_tool_name
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.engine.producing.final_report import REPORT_TOOL
from scenarios_app.engine.scenario import Scenario, ScriptedAnswer, Step

Kind: TypeAlias = Literal["shadowed", "unreachable", "looping", "broad", "narrow", "unoffered"]

# Beyond so many steps only neighbours in their scenario are compared with one another.
COMPARED = 1_000


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One finding. `step` is the number of the step from 1, `place` where in it to look."""

    kind: Kind
    scenario: str
    step: int
    place: str
    message: str

    @property
    def row(self) -> int:
        """The step's place in the scenario, from 0."""
        return self.step - 1

    def __str__(self) -> str:
        return f"{self.scenario}: step {self.step}: {self.message}"


def lint(
    scenarios: Sequence[Scenario],
    *,
    providers: Collection[str] = (),
    offered: Collection[str] = (),
) -> list[Suspicion]:
    """Everything suspicious, by scenario and step. `providers` are the names that there are, and
    `offered` the tools that requests have offered so far: empty, where that is not known."""
    matching = list(entries_of(scenarios, "match"))
    by_id = list(entries_of(scenarios, "first_user_message"))
    found = [
        *_shadowed(matching),
        *(warning for entry in matching for warning in _impossible(entry, providers)),
        *(warning for scenario in scenarios for warning in _gaps(scenario)),
        *_looping(matching),
        *(warning for entry in matching for warning in _broad(entry)),
        *(warning for entry in matching for warning in _narrow(entry)),
        *(warning for entry in (*matching, *by_id) for warning in _unoffered(entry, offered)),
    ]
    return sorted(found, key=lambda warning: (warning.scenario, warning.step))


def _shadowed(entries: Sequence[Entry]) -> Iterator[Suspicion]:
    """Steps before which another one, that is never used up, takes all that they match."""
    least = least_particular(entries)
    lasting = sorted((e for e in entries if not e.step.consume), key=lambda entry: entry.rank)
    of_one: dict[str, list[Entry]] = {}
    for entry in lasting:
        of_one.setdefault(entry.scenario.name, []).append(entry)
    everywhere = len(entries) <= COMPARED
    for entry in entries:
        for above in lasting if everywhere else of_one.get(entry.scenario.name, ()):
            reason = shadowing(above, entry, least=least[above.ref])
            if reason is not None and match_implies(entry.match, above.match):
                message = f"{_who(above, entry)} always answers first: {RULES[reason]}"
                yield _warn(entry, "shadowed", "match", message)
                break


def _impossible(entry: Entry, providers: Collection[str]) -> Iterator[Suspicion]:
    texts = [check for check in entry.match.checks if isinstance(check, TextCheck)]
    for one, other in combinations(texts, 2):
        if one.subject == other.subject and one.subject.which != "any":
            pairs = [(a, b) for a in one.conditions for b in other.conditions]
            if one.subject.kind == "message" and all(excludes(*pair) for pair in pairs):
                reason = f"{one.field} and {other.field} cannot both hold"
                yield _warn(entry, "unreachable", other.field, reason)
    for check in texts:
        if check.subject.kind == "provider" and providers:
            known = any(c.test(name) for c in check.conditions for name in providers)
            if not known:
                reason = f"there is no such provider, only {', '.join(sorted(providers))}"
                yield _warn(entry, "unreachable", check.field, reason)


def _gaps(scenario: Scenario) -> Iterator[Suspicion]:
    """Turns after one that is missing: that one gets the fallback step."""
    if scenario.select != "first_user_message":
        return
    turns = {step.turn for step in scenario.steps}
    for number, step in enumerate(scenario.steps, start=1):
        if step.turn is not None and step.turn > 1 and step.turn - 1 not in turns:
            message = f"turn {step.turn} comes after a turn {step.turn - 1} that is not scripted"
            yield Suspicion("unreachable", scenario.name, number, "turn", message)


def _looping(entries: Sequence[Entry]) -> Iterator[Suspicion]:
    """Steps that call a tool, and match again when its result is sent."""
    awaiting: dict[str, int] = {}
    for entry in entries:
        if _awaits(entry.match):
            awaiting.setdefault(entry.scenario.name, entry.rank.place)
    for entry in entries:
        names = _called(entry.step) - {REPORT_TOOL}
        if not names or entry.step.consume or _moves_on(entry.match):
            continue
        place = entry.rank.place
        if awaiting.get(entry.scenario.name, place) >= place:
            message = f"it answers the result of {_listed(names)} with the same call again"
            yield _warn(entry, "looping", "consume", message)


def _broad(entry: Entry) -> Iterator[Suspicion]:
    if entry.scenario.catch_all or entry.step.consume:
        return
    if not entry.match.checks and entry.scenario.priority >= 0:
        message = (
            "it has no condition and is never used up: it answers all that no other offer of its "
            "priority does, and no scenario of a lower one answers any more"
        )
        yield _warn(entry, "broad", "match", message)
    for check in entry.match.checks:
        if isinstance(check, TextCheck) and check.subject.kind == "message":
            for condition in check.conditions:
                if said := _says_little(condition):
                    yield _warn(entry, "broad", check.field, said)


def _narrow(entry: Entry) -> Iterator[Suspicion]:
    """Patterns whose classes take less than is meant."""
    for check in entry.match.checks:
        for need in check.needs:
            for condition in need.conditions:
                for said in narrow_classes(condition.pattern or ""):
                    yield _warn(entry, "narrow", check.field, said)


def _unoffered(entry: Entry, offered: Collection[str]) -> Iterator[Suspicion]:
    if not offered:
        return
    known = {sanitise_tool_name(name) for name in offered}
    wanted = {
        "match.tools": {
            condition.equals
            for check in entry.match.checks
            if isinstance(check, TextCheck) and check.subject.kind == "tool"
            for condition in check.conditions
            if condition.equals is not None
        },
        "expect.tools": set(entry.step.expect.tools),
        "produce.tool_calls": _called(entry.step) - {REPORT_TOOL},
    }
    for place, names in wanted.items():
        if missing := {name for name in names if sanitise_tool_name(name) not in known}:
            yield _warn(entry, "unoffered", place, f"no request has offered {_listed(missing)}")


def _moves_on(match: CompiledMatch) -> bool:
    """Whether the conditions may fail once a call and its result have been added."""
    for check in match.checks:
        if isinstance(check, TextCheck):
            subject = check.subject
            if subject.kind == "turn":
                return True
            last = subject.which == "last"
            if subject.kind == "message" and last and subject.name in ("", "assistant", "tool"):
                return True
    return False


def _awaits(match: CompiledMatch) -> bool:
    """Whether a step is for requests that bring a tool's result."""
    return any(
        isinstance(check, ToolCallCheck | ToolResultCheck)
        or (check.subject.kind == "message" and check.subject.name == "tool")
        for check in match.checks
        if isinstance(check, ToolCallCheck | ToolResultCheck | TextCheck)
    )


def _says_little(condition: CompiledText) -> str:
    if condition.equals is not None:
        return ""
    literals = [text for text in (condition.contains, condition.startswith) if text is not None]
    if literals and all(len(text) <= 1 for text in literals) and condition.regex is None:
        return f"{quote(max(literals, key=len))} is in nearly every message"
    if not literals and condition.regex is not None and condition.regex.search("") is not None:
        return f"the pattern {quote(condition.pattern or '')} is found in every message"
    return ""


def _called(step: Step) -> set[str]:
    answers = (step.produce.streaming, step.produce.non_streaming)
    return {
        part.name
        for answer in answers
        if isinstance(answer, ScriptedAnswer)
        for choice in answer.choices
        for part in choice.parts
        if isinstance(part, ToolCallPart)
    }


def _who(above: Entry, entry: Entry) -> str:
    number = above.rank.place + 1
    if above.scenario is entry.scenario:
        return f"step {number}"
    return f"step {number} of {above.scenario.name}"


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names))


def _warn(entry: Entry, kind: Kind, place: str, message: str) -> Suspicion:
    return Suspicion(kind, entry.scenario.name, entry.rank.place + 1, place, message)
