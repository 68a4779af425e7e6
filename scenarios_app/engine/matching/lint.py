"""What is suspicious in scenarios that are right: steps that never answer, or answer too much."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from scenarios_app.engine.conditions.base import Known, SuspicionKind
from scenarios_app.engine.conditions.subjects import sanitise_tool_name
from scenarios_app.engine.conditions.tools import (
    OfferedToolCondition,
    ToolCallCondition,
    ToolResultCondition,
)
from scenarios_app.engine.matching.index import Entry, entries_of
from scenarios_app.engine.matching.near_misses import RULES, least_particular, shadowing
from scenarios_app.engine.parts import (
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    held_text,
)
from scenarios_app.engine.producing.produce import REPORT_TOOL
from scenarios_app.engine.producing.templates import OPENING, broken_templates
from scenarios_app.engine.scenario import Scenario, ScriptedAnswer, Step

# Beyond so many steps only neighbours in their scenario are compared with one another.
COMPARED = 1_000
# What a step made of a request says until somebody has written its answer.
PLACEHOLDER = "Say here what to answer."
_PLACES: dict[type, str] = {
    TextPart: "produce.text",
    ReasoningPart: "produce.reasoning",
    RefusalPart: "produce.refusal",
    ToolCallPart: "produce.tool_calls",
}
# So many characters of a text are quoted.
_QUOTED = 40
# Answers that nobody means.
PLACEHOLDERS = {PLACEHOLDER.casefold(), "todo", "tbd", "fixme", "xxx", "placeholder", "…", "..."}


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One finding. `step` is the number of the step from 1, 0 where it is about the scenario,
    `place` where in it to look, and `by` the scenario and number of the step that is in its way, or
    that it goes before to no good. `instead` is what could stand there, with what it replaces.
    `tools` are those whose results make a step loop."""

    kind: SuspicionKind
    scenario: str
    step: int
    place: str
    message: str
    by: tuple[str, int] | None = None
    instead: tuple[str, str] | None = None
    tools: tuple[str, ...] = ()

    @property
    def row(self) -> int:
        """The step's place in the scenario, from 0."""
        return self.step - 1

    def __str__(self) -> str:
        step = f"step {self.step}: " if self.step else ""
        return f"{self.scenario}: {step}{self.message}"


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
    known = Known(providers)
    found = [
        *_shadowed(matching),
        *(warning for entry in matching for warning in _impossible(entry)),
        *(warning for entry in matching for warning in _suspicious(entry, known)),
        *(warning for scenario in scenarios for warning in _gaps(scenario)),
        *(warning for scenario in scenarios for warning in _unwritten(scenario)),
        *(warning for scenario in scenarios for warning in _unfilled(scenario)),
        *_looping(matching),
        *(warning for entry in matching for warning in _broad(entry, known)),
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
            if reason is not None and entry.match.implies(above.match):
                message = f"{_who(above, entry)} always answers first: {RULES[reason]}"
                yield _warn(entry, "shadowed", "match", message, by=above)
                break


def _impossible(entry: Entry) -> Iterator[Suspicion]:
    for one, other in combinations(entry.match.conditions, 2):
        if one.excludes(other):
            reason = f"{one.field} and {other.field} cannot both hold"
            yield _warn(entry, "unreachable", other.field, reason)


def _suspicious(entry: Entry, known: Known, *, broad: bool = False) -> Iterator[Suspicion]:
    """What conditions are by themselves: too broad, or anything else."""
    for condition in entry.match.conditions:
        for kind, reason in condition.suspicions(known):
            if (kind == "broad") == broad:
                yield _warn(entry, kind, condition.field, reason)


def _gaps(scenario: Scenario) -> Iterator[Suspicion]:
    """Turns after one that is missing: that one gets the fallback step."""
    if scenario.select != "first_user_message":
        return
    turns = {step.turn for step in scenario.steps}
    for number, step in enumerate(scenario.steps, start=1):
        if step.turn is not None and step.turn > 1 and step.turn - 1 not in turns:
            message = f"turn {step.turn} comes after a turn {step.turn - 1} that is not scripted"
            yield Suspicion("unreachable", scenario.name, number, "turn", message)


def _unwritten(scenario: Scenario) -> Iterator[Suspicion]:
    """What somebody still has to write."""
    if not scenario.steps:
        yield Suspicion("empty", scenario.name, 0, "steps", "it has no step, so it answers nothing")
    for number, step in enumerate(scenario.steps, start=1):
        for text in _texts(step):
            if text.strip().casefold() in PLACEHOLDERS:
                message = f"it answers with a placeholder: “{text.strip()}”"
                yield Suspicion("placeholder", scenario.name, number, "produce.text", message)
                break


def _texts(step: Step) -> Iterator[str]:
    for answer in (step.produce.streaming, step.produce.non_streaming):
        if isinstance(answer, ScriptedAnswer):
            for choice in answer.choices:
                yield from (part.text for part in choice.parts if isinstance(part, TextPart))


def _unfilled(scenario: Scenario) -> Iterator[Suspicion]:
    """What looks like a template and is sent as it stands. Recorded texts are a provider's own."""
    for number, step in enumerate(scenario.steps, start=1):
        if step.produce.recorded is not None:
            continue
        groups = step.match.group_names
        for place, text in dict.fromkeys(_filled_texts(step)):
            for found in broken_templates(text, scenario.variables, groups=groups)[:1]:
                shown = found if len(found) <= _QUOTED else f"{found[:_QUOTED]}…"
                message = f"“{shown}” is not filled in: placeholders look like {{{{ name }}}}"
                yield Suspicion("unfilled", scenario.name, number, place, message)


def _filled_texts(step: Step) -> Iterator[tuple[str, str]]:
    """The texts of a step in which templates are filled, with their places."""
    for answer in (step.produce.streaming, step.produce.non_streaming):
        for choice in answer.choices if isinstance(answer, ScriptedAnswer) else ():
            for part in choice.parts:
                text, place = held_text(part), _PLACES.get(type(part))
                if place and OPENING in text:
                    # The arguments of a call are JSON, where a text ends with its quote.
                    calls = isinstance(part, ToolCallPart)
                    yield from ((place, each) for each in (text.split('"') if calls else [text]))


def _looping(entries: Sequence[Entry]) -> Iterator[Suspicion]:
    """Steps that call a tool, and match again when its result is sent. `by` is a later step that
    is for this result."""
    awaiting: dict[str, list[Entry]] = {}
    for entry in entries:
        if any(condition.awaits_result for condition in entry.match.conditions):
            awaiting.setdefault(entry.scenario.name, []).append(entry)
    for entry in entries:
        names = _called(entry.step) - {REPORT_TOOL}
        if not names or entry.step.consume or _moves_on(entry):
            continue
        others = awaiting.get(entry.scenario.name, ())
        if all(other.rank.place >= entry.rank.place for other in others):
            result = "its result" if len(names) == 1 else "their results"
            message = f"endless loop: it calls {_listed(names)} again after {result}"
            later = (one for one in others if one is not entry and _awaited(one) <= names)
            warning = _warn(entry, "looping", "consume", message, by=next(later, None))
            yield replace(warning, tools=tuple(sorted(names)))


def _awaited(entry: Entry) -> set[str]:
    """The names of the tools whose calls or results a step is for; empty for those of any tool."""
    conditions = entry.match.of(ToolCallCondition), entry.match.of(ToolResultCondition)
    return {one.name.equals or "" for found in conditions for one in found if one.name}


def _broad(entry: Entry, known: Known) -> Iterator[Suspicion]:
    if entry.scenario.catch_all or entry.step.consume:
        return
    if not entry.match.conditions and entry.scenario.priority >= 0:
        message = (
            "it has no condition and is never used up: it answers all that no other offer of its "
            "priority does, and no scenario of a lower one answers any more"
        )
        yield _warn(entry, "broad", "match", message)
    yield from _suspicious(entry, known, broad=True)


def _narrow(entry: Entry) -> Iterator[Suspicion]:
    """Patterns whose classes take less than is meant."""
    for condition in entry.match.conditions:
        for need in condition.needs:
            for text in need.conditions:
                for said, instead in narrow_classes(text.regex or ""):
                    warning = _warn(entry, "narrow", condition.field, said)
                    yield replace(warning, instead=instead)


def _unoffered(entry: Entry, offered: Collection[str]) -> Iterator[Suspicion]:
    if not offered:
        return
    known = {sanitise_tool_name(name) for name in offered}
    wanted = {
        "match.tools": {
            sanitise_tool_name(condition.name) for condition in entry.match.of(OfferedToolCondition)
        },
        "expect.tools": set(entry.step.expect.tools),
        "produce.tool_calls": _called(entry.step) - {REPORT_TOOL},
    }
    for place, names in wanted.items():
        if missing := {name for name in names if sanitise_tool_name(name) not in known}:
            yield _warn(entry, "unoffered", place, f"no request has offered {_listed(missing)}")


def _moves_on(entry: Entry) -> bool:
    return any(condition.moves_on for condition in entry.match.conditions)


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


def _warn(
    entry: Entry, kind: SuspicionKind, place: str, message: str, *, by: Entry | None = None
) -> Suspicion:
    other = None if by is None else (by.scenario.name, by.rank.place + 1)
    return Suspicion(kind, entry.scenario.name, entry.rank.place + 1, place, message, other)


_TOKEN = re.compile(
    r"""
    \\Q (?P<quoted> .*?) (?: \\E | $)
    | \\ [pP] (?: \{ [^}]* \} | .)
    | \\ x (?: \{ (?P<long> [0-9A-Fa-f]+) \} | (?P<short> [0-9A-Fa-f]{2}))
    | \\ .
    | \[: \^? \w+ :\]
    | \(\? P? < [^>]* >
    | \(\? [A-Za-z-]* [:)]
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_WORD, _NO_WORD = r"[\pL\pN_]", r"[^\pL\pN_]"
_BEFORE, _AFTER = rf"(?:^|{_NO_WORD}) before a word", rf"(?:{_NO_WORD}|$) after it"
_BOUNDARY = f"{_BEFORE} and {_AFTER}"
# What takes the characters of every script.
_LETTERS = {
    r"\w": _WORD,
    r"\W": _NO_WORD,
    r"\b": _BOUNDARY,
    r"\B": _BOUNDARY,
    "[:word:]": _WORD,
    "[:alnum:]": r"[\pL\pN]",
    "[:alpha:]": r"\pL",
    "[:lower:]": r"\p{Ll}",
    "[:upper:]": r"\p{Lu}",
}
_DIGITS = {r"\d": r"\p{Nd}", r"\D": r"\P{Nd}", "[:digit:]": r"\p{Nd}"}
_SPACES = {r"\s": r"[\s\pZ]", r"\S": r"[^\s\pZ]", "[:space:]": r"[\s\pZ]"}
_KINDS: tuple[tuple[str, Callable[[str], bool], dict[str, str]], ...] = (
    ("letters", str.isalpha, _LETTERS),
    ("digits", str.isdecimal, _DIGITS),
    ("spaces", str.isspace, _SPACES),
)
# A boundary between these and a letter of ASCII is where everybody expects it.
_PLAIN_ESCAPES = {r"\s", r"\S", r"\d", r"\D", r"\A", r"\z", r"\n", r"\t"}
_BRACKETS_AND_COUNTS = "()[]|?*+{}"


@dataclass(slots=True)
class _Class:
    """Brackets, or what stands alone; `wide` where it names more than ASCII itself."""

    tokens: list[str] = field(default_factory=list)
    wide: bool = False


def narrow_classes(pattern: str) -> Iterator[tuple[str, tuple[str, str] | None]]:
    """What is said of each class that takes less than the pattern seems to mean; and, where it can
    stand in its place, the class with the wider one."""
    tokens = [(match.group(), _literal(match)) for match in _TOKEN.finditer(pattern)]
    beyond = [char for _, text in tokens for char in text if not char.isascii()]
    for kind, is_one, instead in _KINDS:
        if not any(map(is_one, beyond)):
            continue
        for name in dict.fromkeys(_alone(tokens)):
            if name in instead:
                said = (
                    f"{name} takes ASCII alone, and the pattern has {kind} beyond it; "
                    f"for those of every script: {instead[name]}"
                )
                # Others are to be rewritten by hand: boundaries, and what stands in brackets.
                stands = name.startswith("\\") and name not in (r"\b", r"\B") and "[" not in pattern
                yield said, ((name, instead[name]) if stands else None)


def _literal(match: re.Match[str]) -> str:
    """The characters that a token stands for, nothing where it is an operator or a class."""
    if match["quoted"] is not None:
        return match["quoted"]
    if code := match["long"] or match["short"]:
        return chr(int(code, 16))
    token = match.group()
    return token if len(token) == 1 else ""


def _alone(tokens: list[tuple[str, str]]) -> Iterator[str]:
    """Classes without company in their brackets, and boundaries that are not between ASCII."""
    inside: _Class | None = None
    for place, (token, text) in enumerate(tokens):
        if inside is not None:
            if token == "]" and inside.tokens not in ([], ["^"]):
                yield from () if inside.wide else inside.tokens
                inside = None
                continue
            inside.tokens.append(token)
            inside.wide |= token[:2] in (r"\p", r"\P") or not text.isascii()
        elif token == "[":
            inside = _Class()
        elif token in (r"\b", r"\B"):
            beside = tokens[max(place - 1, 0) : place] + tokens[place + 1 : place + 2]
            if not all(_is_plain(*one) for one in beside):
                yield token
        else:
            yield token


def _is_plain(token: str, text: str) -> bool:
    if token.startswith("(?") and token.endswith(")"):
        return True
    if text:
        return text.isascii() and text not in _BRACKETS_AND_COUNTS
    return token in _PLAIN_ESCAPES
