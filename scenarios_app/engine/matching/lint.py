"""Finds suspicious parts of valid scenarios: steps that never answer, answer too much, or loop."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import NamedTuple

from scenarios_app.engine.conditions.base import SuspicionKind
from scenarios_app.engine.conditions.subjects import sanitise_tool_name
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.conditions.tools import (
    OfferedToolCondition,
    ToolCallCondition,
    ToolResultCondition,
)
from scenarios_app.engine.matching.index import Entry, entries_of
from scenarios_app.engine.matching.near_misses import (
    RULE_TEXTS,
    find_shadowing_rule,
    least_particular,
)
from scenarios_app.engine.parts import (
    LIST_MCP_TOOLS,
    AnswerPart,
    ReasoningPart,
    RefusalPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
    produced_text,
)
from scenarios_app.engine.producing.placeholders import OPENING, broken_placeholders
from scenarios_app.engine.producing.produce import REPORT_TOOL
from scenarios_app.engine.scenario import Scenario, ScriptedAnswer, Step

# Beyond this number of steps, only steps of the same scenario are compared with one another.
MAX_COMPARED_STEPS = 1_000
# Text of a step created from a request until its answer is written.
PLACEHOLDER = "Say here what to answer."
_PART_FIELDS: dict[type, str] = {
    TextPart: "produce.text",
    ReasoningPart: "produce.reasoning",
    RefusalPart: "produce.refusal",
    ToolCallPart: "produce.tool_calls",
}
_MAX_QUOTED_CHARS = 40
# Texts that are never meant as answers.
UNWRITTEN_TEXTS = {PLACEHOLDER.casefold(), "todo", "tbd", "fixme", "xxx", "placeholder", "…", "..."}


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One warning. `step` is the step's number from 1, or 0 for the whole scenario; `place` is the
    field.

    `by` is scenario and number of the step that takes its requests, or that it should let pass.
    `instead` is the text to replace and its replacement. `tools` are those whose results make a
    step loop.
    """

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
        """The step's index in the scenario, from 0; -1 for the whole scenario."""
        return self.step - 1

    def __str__(self) -> str:
        step = f"step {self.step}: " if self.step else ""
        return f"{self.scenario}: {step}{self.message}"


class Api(NamedTuple):
    """An API that the engine answers: its provider, its path as steps name it, and the hosted tools
    that it has, with `citations` if it has these."""

    provider: str
    path: str
    sends: frozenset[str]


def lint(
    scenarios: Sequence[Scenario],
    *,
    providers: Collection[str] = (),
    offered: Collection[str] = (),
    apis: Collection[Api] = (),
) -> list[Suspicion]:
    """Return all warnings, sorted by scenario and step. `providers` are the server's, `offered` the
    tools that requests have offered, `apis` what each API can send; empty if unknown."""
    matching = list(entries_of(scenarios, "match"))
    entries = [*matching, *entries_of(scenarios, "first_user_message")]
    suspicions = chain(
        _find_shadowed(matching),
        *map(_find_contradictions, matching),
        *(_find_condition_suspicions(entry, providers) for entry in matching),
        *map(_find_turn_gaps, scenarios),
        _find_scenarios_without_steps(scenarios),
        *map(_find_unwritten, entries),
        *map(_find_broken_placeholders, entries),
        _find_loops(matching),
        *(_find_broad(entry, providers) for entry in matching),
        *map(_find_narrow_patterns, matching),
        *(_find_unoffered_tools(entry, offered) for entry in entries),
        *(_find_unsent_parts(entry, apis) for entry in matching),
    )
    return sorted(suspicions, key=lambda warning: (warning.scenario, warning.step))


def _find_shadowed(entries: Sequence[Entry]) -> Iterator[Suspicion]:
    """Yield steps whose requests an earlier step, which is never consumed, always answers."""
    least = least_particular(entries)
    lasting = sorted((e for e in entries if not e.step.consume), key=lambda entry: entry.rank)
    by_scenario: dict[str, list[Entry]] = {}
    for entry in lasting:
        by_scenario.setdefault(entry.scenario.name, []).append(entry)
    compare_all = len(entries) <= MAX_COMPARED_STEPS
    for entry in entries:
        for above in lasting if compare_all else by_scenario.get(entry.scenario.name, ()):
            reason = find_shadowing_rule(above, entry, least=least[above.ref])
            if reason is not None and entry.match.implies(above.match):
                message = (
                    f"{_name_earlier_step(above, entry)} always answers first: {RULE_TEXTS[reason]}"
                )
                yield _make_suspicion(entry, "shadowed", "match", message, cause=above)
                break


def _find_contradictions(entry: Entry) -> Iterator[Suspicion]:
    """Yield pairs of a step's conditions that exclude each other."""
    for condition, other in combinations(entry.match.conditions, 2):
        if condition.excludes(other):
            reason = f"{condition.field} and {other.field} cannot both hold"
            yield _make_suspicion(entry, "unreachable", other.field, reason)


def _find_condition_suspicions(
    entry: Entry, providers: Collection[str], *, broad: bool = False
) -> Iterator[Suspicion]:
    """Yield the conditions' own suspicions: only the broad ones, or only the others."""
    for condition in entry.match.conditions:
        for kind, reason in condition.suspicions(providers):
            if (kind == "broad") == broad:
                yield _make_suspicion(entry, kind, condition.field, reason)


def _find_turn_gaps(scenario: Scenario) -> Iterator[Suspicion]:
    """Yield turns after a missing one, which gets the fallback step, if selected by id."""
    if scenario.select != "first_user_message":
        return
    turns = {step.turn for step in scenario.steps}
    for number, step in enumerate(scenario.steps, start=1):
        if step.turn is not None and step.turn > 1 and step.turn - 1 not in turns:
            message = f"turn {step.turn} comes after a turn {step.turn - 1} that is not scripted"
            yield Suspicion("unreachable", scenario.name, number, "turn", message)


def _find_scenarios_without_steps(scenarios: Sequence[Scenario]) -> Iterator[Suspicion]:
    for scenario in scenarios:
        if not scenario.steps:
            message = "it has no step, so it answers nothing"
            yield Suspicion("empty", scenario.name, 0, "steps", message)


def _find_unwritten(entry: Entry) -> Iterator[Suspicion]:
    """Yield a suspicion of the first text that is still to be written, such as "TODO"."""
    texts = (p.text.strip() for p in _scripted_parts(entry.step) if isinstance(p, TextPart))
    if text := next((text for text in texts if text.casefold() in UNWRITTEN_TEXTS), ""):
        message = f"it answers with a placeholder: “{text}”"
        yield _make_suspicion(entry, "placeholder", "produce.text", message)


def _scripted_parts(step: Step) -> Iterator[AnswerPart]:
    """Yield the parts that a step scripts, of its streamed and then of its whole answer."""
    for answer in (step.produce.streaming, step.produce.non_streaming):
        for choice in answer.choices if isinstance(answer, ScriptedAnswer) else ():
            yield from choice.parts


def _find_broken_placeholders(entry: Entry) -> Iterator[Suspicion]:
    """Yield texts that look like placeholders but are sent unchanged, except recorded texts."""
    if entry.step.produce.recorded is not None:
        return
    variables, groups = entry.scenario.variables, entry.match.group_names
    for place, text in dict.fromkeys(_filled_texts(entry.step)):
        for placeholder in broken_placeholders(text, variables, groups=groups)[:1]:
            more = "…" if len(placeholder) > _MAX_QUOTED_CHARS else ""
            message = (
                f"“{placeholder[:_MAX_QUOTED_CHARS]}{more}” is not filled in: "
                "placeholders look like {{ name }}"
            )
            yield _make_suspicion(entry, "unfilled", place, message)


def _filled_texts(step: Step) -> Iterator[tuple[str, str]]:
    """Yield the texts of a step in which placeholders are filled, with their fields."""
    for part in _scripted_parts(step):
        text, place = produced_text(part), _PART_FIELDS.get(type(part))
        if place and OPENING in text:
            # Arguments are JSON, where a text ends at its quote.
            calls = isinstance(part, ToolCallPart)
            yield from ((place, each) for each in (text.split('"') if calls else [text]))


def _find_loops(entries: Sequence[Entry]) -> Iterator[Suspicion]:
    """Yield steps that call a tool and match its result; `by` is a later step for the result."""
    awaiting: dict[str, list[Entry]] = {}
    for entry in entries:
        if any(condition.requires_tool_result for condition in entry.match.conditions):
            awaiting.setdefault(entry.scenario.name, []).append(entry)
    for entry in entries:
        names = _called_tools(entry.step)
        may_end = any(condition.can_fail_next_turn for condition in entry.match.conditions)
        if not names or entry.step.consume or may_end:
            continue
        others = awaiting.get(entry.scenario.name, ())
        if all(other.rank.place >= entry.rank.place for other in others):
            result = "its result" if len(names) == 1 else "their results"
            message = f"endless loop: it calls {_join_names(names)} again after {result}"
            later = (
                other for other in others if other is not entry and _awaited_tools(other) <= names
            )
            warning = _make_suspicion(entry, "looping", "consume", message, cause=next(later, None))
            yield replace(warning, tools=tuple(sorted(names)))


def _awaited_tools(entry: Entry) -> set[str]:
    """Return the tools whose calls or results a step requires; empty for any tool."""
    conditions = entry.match.of(ToolCallCondition), entry.match.of(ToolResultCondition)
    return {condition.name for group in conditions for condition in group if condition.name}


def _find_broad(entry: Entry, providers: Collection[str]) -> Iterator[Suspicion]:
    """Yield a lasting step without conditions, if its priority is not negative, and broad
    conditions of a lasting step; none of a catch-all."""
    if entry.scenario.catch_all or entry.step.consume:
        return
    if not entry.match.conditions and entry.scenario.priority >= 0:
        message = (
            "it has no condition and is never used up: it answers all that no other offer of its "
            "priority does, and no scenario of a lower one answers any more"
        )
        yield _make_suspicion(entry, "broad", "match", message)
    yield from _find_condition_suspicions(entry, providers, broad=True)


def _find_narrow_patterns(entry: Entry) -> Iterator[Suspicion]:
    """Yield patterns with other characters than ASCII, but with classes of ASCII only."""
    for condition in entry.match.conditions:
        for need in condition.needs:
            for text in need.conditions:
                for message, instead in find_ascii_classes(text.regex or ""):
                    warning = _make_suspicion(entry, "narrow", condition.field, message)
                    yield replace(warning, instead=instead)


def _find_unoffered_tools(entry: Entry, offered: Collection[str]) -> Iterator[Suspicion]:
    """Yield tools of a step that no request has offered; none if no request is known."""
    if not offered:
        return
    known_names = {sanitise_tool_name(name) for name in offered}
    wanted = {
        "match.tools": {
            sanitise_tool_name(condition.name) for condition in entry.match.of(OfferedToolCondition)
        },
        "expect.tools": set(entry.step.expect.tools),
        "produce.tool_calls": _called_tools(entry.step),
    }
    for place, names in wanted.items():
        if missing := {name for name in names if sanitise_tool_name(name) not in known_names}:
            yield _make_suspicion(
                entry, "unoffered", place, f"no request has offered {_join_names(missing)}"
            )


def _find_unsent_parts(entry: Entry, apis: Collection[Api]) -> Iterator[Suspicion]:
    """Yield hosted tools and citations that none of the step's APIs can send."""
    sends = [
        api.sends
        for api in apis
        if _is_among(api.provider, entry.match.alternatives("provider"))
        and _is_among(api.path, entry.match.alternatives("path"))
    ]
    scripted = dict.fromkeys(
        name for part in _scripted_parts(entry.step) for name in _hosted_names(part)
    )
    for name in scripted if sends else ():
        if not any(name in names for names in sends):
            message = f"left out: no API of this step has {name.replace('_', ' ')}"
            yield _make_suspicion(entry, "unsent", "produce.parts", message)


def _is_among(text: str, alternatives: Sequence[TextCondition]) -> bool:
    """Return True if a text passes one of the conditions, or if there is none."""
    return not alternatives or any(condition.test(text) for condition in alternatives)


def _hosted_names(part: AnswerPart) -> Iterator[str]:
    """Yield what an API needs to send a part: the name of a hosted tool, or `citations`."""
    match part:
        case TextPart(citations=(_, *_)):
            yield "citations"
        case ServerToolUsePart(server=""):
            yield part.name
        case ServerToolUsePart():
            yield part.name if part.name == LIST_MCP_TOOLS else "mcp"


def _called_tools(step: Step) -> set[str]:
    """Return the tools that a step calls, without the one for final reports."""
    calls = {part.name for part in _scripted_parts(step) if isinstance(part, ToolCallPart)}
    return calls - {REPORT_TOOL}


def _name_earlier_step(above: Entry, entry: Entry) -> str:
    """Return the name of the step `above` as a message about `entry` shows it."""
    number = above.rank.place + 1
    if above.scenario is entry.scenario:
        return f"step {number}"
    return f"step {number} of {above.scenario.name}"


def _join_names(names: Collection[str]) -> str:
    return ", ".join(sorted(names))


def _make_suspicion(
    entry: Entry, kind: SuspicionKind, place: str, message: str, *, cause: Entry | None = None
) -> Suspicion:
    """Return a suspicion about a step; `cause` is the other step that it names."""
    other = None if cause is None else (cause.scenario.name, cause.rank.place + 1)
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
# Classes that match the characters of every script.
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
# A boundary between these and an ASCII letter is where users expect it.
_PLAIN_ESCAPES = {r"\s", r"\S", r"\d", r"\D", r"\A", r"\z", r"\n", r"\t"}
_BRACKETS_AND_COUNTS = "()[]|?*+{}"


def find_ascii_classes(pattern: str) -> Iterator[tuple[str, tuple[str, str] | None]]:
    """Yield, for each class or boundary that takes ASCII alone (such as `[:alpha:]`) in a pattern
    with characters beyond ASCII, a message and, if it can be replaced mechanically, the class with
    its wider replacement."""
    tokens = [(match.group(), _literal(match)) for match in _TOKEN.finditer(pattern)]
    beyond = [char for _, text in tokens for char in text if not char.isascii()]
    for kind, is_one, instead in _KINDS:
        if not any(map(is_one, beyond)):
            continue
        for name in dict.fromkeys(_possibly_narrow_tokens(tokens)):
            if name in instead:
                message = (
                    f"{name} takes ASCII alone, and the pattern has {kind} beyond it; "
                    f"for those of every script: {instead[name]}"
                )
                # Boundaries and classes in brackets need rewriting by hand.
                replaceable = (
                    name.startswith("\\") and name not in (r"\b", r"\B") and "[" not in pattern
                )
                yield message, ((name, instead[name]) if replaceable else None)


def _literal(match: re.Match[str]) -> str:
    """Return the characters that a token stands for; empty for an operator or a class."""
    if match["quoted"] is not None:
        return match["quoted"]
    if code := match["long"] or match["short"]:
        return chr(int(code, 16))
    token = match.group()
    return token if len(token) == 1 else ""


def _possibly_narrow_tokens(tokens: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the tokens outside brackets, and those in brackets with ASCII members only; of the
    boundaries, only those that are not between ASCII."""
    members: list[str] | None = None
    is_wide = False
    for place, (token, text) in enumerate(tokens):
        if members is not None:
            if token == "]" and members not in ([], ["^"]):
                # A class that names more than ASCII itself is meant so.
                yield from () if is_wide else members
                members = None
                continue
            members.append(token)
            is_wide |= token[:2] in (r"\p", r"\P") or not text.isascii()
        elif token == "[":
            members, is_wide = [], False
        elif token in (r"\b", r"\B"):
            neighbours = tokens[max(place - 1, 0) : place] + tokens[place + 1 : place + 2]
            if not all(_is_ascii_token(*pair) for pair in neighbours):
                yield token
        else:
            yield token


def _is_ascii_token(token: str, text: str) -> bool:
    """Return True if users expect a boundary beside this token: ASCII or options as in `(?i)`."""
    if token.startswith("(?") and token.endswith(")"):
        return True
    if text:
        return text.isascii() and text not in _BRACKETS_AND_COUNTS
    return token in _PLAIN_ESCAPES
