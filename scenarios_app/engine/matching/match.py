"""Whether a request is what a step's `match` asks for, and what of it is not."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.matching.checks import Check, TextCheck, ToolCallCheck, ToolResultCheck
from scenarios_app.engine.matching.conditions import CompiledText, compile_text, quote, shorten
from scenarios_app.engine.matching.request_view import (
    Reading,
    Subject,
    SubjectKind,
    sanitise_tool_name,
)
from scenarios_app.engine.scenario import (
    Match,
    TextCondition,
    ToolCallCondition,
    ToolResultCondition,
)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A condition that does not hold. `field` is its place in the step: `match.messages[0]`."""

    field: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition, what it wanted and what it got."""

    field: str
    expected: str
    actual: str
    ok: bool


@dataclass(frozen=True, slots=True)
class MatchResult:
    """`distance` is the mean over all conditions, from 0 (matched) to 1 (nothing alike)."""

    matched: bool
    mismatches: tuple[Mismatch, ...]
    distance: float
    groups: dict[str, str]


@dataclass(frozen=True, slots=True)
class CompiledMatch:
    """All conditions of a step, in the order in which they are told."""

    checks: tuple[Check, ...]
    group_names: tuple[str, ...]

    def holds(self, reading: Reading) -> bool:
        return all(check.holds(reading) for check in self.checks)

    def groups(self, reading: Reading) -> dict[str, str]:
        """Every named group by its name; of two of one name the first that took part."""
        if not self.group_names:
            return {}
        groups = dict.fromkeys(self.group_names, "")
        for check in self.checks:
            for name, value in check.groups(reading).items():
                groups[name] = groups[name] or value
        return groups

    def mismatches(self, reading: Reading) -> tuple[Mismatch, ...]:
        return tuple(
            Mismatch(check.field, check.expected, check.actual(reading))
            for check in self.checks
            if not check.holds(reading)
        )

    def distance(self, reading: Reading) -> float:
        """0 only if all conditions hold; a little more than 0 may be said of a long text that
        meets them."""
        if not self.checks:
            return 0.0
        return sum(check.distance(reading) for check in self.checks) / len(self.checks)


def match_request(
    match: Match, request: CanonicalRequest, *, turn: int | None = None
) -> MatchResult:
    """Match one request; `turn` is the step's, one more condition. Raises RegexError.

    For many requests compile once (`compile_match`) instead.
    """
    compiled = compile_match(match, turn=turn)
    reading = Reading(request)
    mismatches = compiled.mismatches(reading)
    return MatchResult(
        matched=not mismatches,
        mismatches=mismatches,
        distance=compiled.distance(reading) if mismatches else 0.0,
        groups={} if mismatches else compiled.groups(reading),
    )


def explain_match(
    match: Match, request: CanonicalRequest, *, turn: int | None = None
) -> tuple[Condition, ...]:
    """Every condition with what it wanted and got, whether it holds or not."""
    return explain_compiled(compile_match(match, turn=turn), Reading(request))


def explain_compiled(compiled: CompiledMatch, reading: Reading) -> tuple[Condition, ...]:
    """The same for conditions that are compiled already."""
    return tuple(
        Condition(check.field, check.expected, check.actual(reading), check.holds(reading))
        for check in compiled.checks
    )


def compile_match(match: Match, *, turn: int | None = None, place: str = "match") -> CompiledMatch:
    """Compile a step's conditions; raises RegexError. `place` begins the name of each field."""
    checks = tuple(_checks(match, turn, place))
    names = dict.fromkeys(name for check in checks for name in check.group_names)
    return CompiledMatch(checks, tuple(names))


def group_names(match: Match) -> tuple[str, ...]:
    """The named regex groups that a step's answer may use as `match.NAME`."""
    return compile_match(match).group_names


def _checks(match: Match, turn: int | None, place: str) -> Iterator[Check]:
    alternatives: tuple[tuple[SubjectKind, tuple[TextCondition, ...]], ...] = (
        ("provider", match.provider),
        ("path", match.path),
        ("model", match.model),
    )
    for kind, conditions in alternatives:
        if conditions:
            compiled = tuple(compile_text(condition) for condition in conditions)
            yield TextCheck(f"{place}.{kind}", Subject(kind), compiled)
    if match.stream is not None:
        yield _fixed(f"{place}.stream", Subject("stream"), "true" if match.stream else "false")
    if turn is not None:
        yield _fixed("turn", Subject("turn"), str(turn))
    for i, message in enumerate(match.messages):
        subject = Subject("message", message.role or "", message.which)
        yield TextCheck(f"{place}.messages[{i}]", subject, (compile_text(message.text),))
    for i, tool in enumerate(match.tools):
        name = _exactly(sanitise_tool_name(tool))
        yield TextCheck(f"{place}.tools[{i}]", Subject("tool"), (name,), f"tool {quote(tool)}")
    for i, call in enumerate(match.tool_calls):
        yield _call_check(f"{place}.tool_calls[{i}]", call)
    for i, result in enumerate(match.tool_results):
        yield _result_check(f"{place}.tool_results[{i}]", result)
    for header, condition in match.headers:
        subject = Subject("header", header.lower())
        yield TextCheck(f"{place}.headers.{header}", subject, (compile_text(condition),))
    for key, condition in match.metadata:
        subject = Subject("metadata", key)
        yield TextCheck(f"{place}.metadata.{key}", subject, (compile_text(condition),))


def _fixed(field: str, subject: Subject, value: str) -> TextCheck:
    return TextCheck(field, subject, (_exactly(value),), value)


def _exactly(text: str) -> CompiledText:
    return compile_text(TextCondition(equals=text))


def _call_check(field: str, condition: ToolCallCondition) -> ToolCallCheck:
    name, arguments = condition.name, condition.arguments
    expected = f"call of {quote(name)}" if name is not None else "a tool call"
    if arguments is not None:
        expected += f" with {shorten(json.dumps(arguments, ensure_ascii=False))}"
    return ToolCallCheck(field, expected, None if name is None else _exactly(name), arguments)


def _result_check(field: str, condition: ToolResultCondition) -> ToolResultCheck:
    text = compile_text(condition.text)
    expected = f"tool result that {text.describe()}"
    if condition.name is not None:
        expected += f", of tool {quote(condition.name)}"
    if condition.tool_call_id is not None:
        expected += f", for call {quote(condition.tool_call_id)}"
    if condition.is_error is not None:
        expected += ", an error" if condition.is_error else ", no error"
    return ToolResultCheck(
        field,
        expected,
        text,
        tool_call_id=None if condition.tool_call_id is None else _exactly(condition.tool_call_id),
        name=None if condition.name is None else _exactly(condition.name),
        is_error=condition.is_error,
    )
