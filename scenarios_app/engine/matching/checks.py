"""The conditions of a step as checks: whether each holds, what it wanted, what it got, how far."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.matching.conditions import CompiledText, quote, shorten
from scenarios_app.engine.matching.distance import text_distance
from scenarios_app.engine.matching.request_view import Reading, Subject, Text
from scenarios_app.engine.parts import ToolCallPart, ToolResultPart
from scenarios_app.engine.secrets import is_secret

_KEPT_OF_SECRETS = 4
_SHOWN = 3
_COMPARED = 20


class Need(NamedTuple):
    """What a request must have for a check to hold: at `subject`, a text that meets one of these.
    A check may ask for more; the index finds steps by their needs."""

    subject: Subject
    conditions: tuple[CompiledText, ...]


class Check(Protocol):
    """One condition. `field` is its place in the step and `expected` its sense, in words."""

    @property
    def field(self) -> str: ...
    @property
    def expected(self) -> str: ...
    @property
    def needs(self) -> tuple[Need, ...]: ...
    @property
    def group_names(self) -> tuple[str, ...]: ...
    def holds(self, reading: Reading) -> bool: ...
    def actual(self, reading: Reading) -> str: ...
    def distance(self, reading: Reading) -> float: ...
    def groups(self, reading: Reading) -> dict[str, str]: ...


@dataclass(frozen=True, slots=True)
class TextCheck:
    """Some text at `subject` meets one of the conditions. `said` replaces their words."""

    field: str
    subject: Subject
    conditions: tuple[CompiledText, ...]
    said: str | None = None

    @property
    def expected(self) -> str:
        if self.said is not None:
            return self.said
        wanted = " or ".join(condition.describe() for condition in self.conditions)
        return f"{_message(self.subject)} {wanted}" if self.subject.kind == "message" else wanted

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.subject, self.conditions),)

    @property
    def group_names(self) -> tuple[str, ...]:
        """A secret gives none: an answer could tell it, piece by piece."""
        if self._of_secret:
            return ()
        return tuple(name for c in self.conditions for name in c.group_names)

    @property
    def _of_secret(self) -> bool:
        return self.subject.kind == "header" and is_secret(self.subject.name)

    def holds(self, reading: Reading) -> bool:
        for text in reading.texts(self.subject):
            for condition in self.conditions:
                if text.meets(condition):
                    return True
        return False

    def actual(self, reading: Reading) -> str:
        texts = reading.texts(self.subject)
        if not texts:
            return _absence(self.subject)
        if self.subject.kind in ("stream", "turn"):
            return texts[0].plain
        if self._of_secret:
            return quote("…" + texts[0].plain[-_KEPT_OF_SECRETS:])
        return _several(text.plain for text in texts)

    def distance(self, reading: Reading) -> float:
        texts = reading.texts(self.subject)[-_COMPARED:]
        return min((text_distance(t, c) for t in texts for c in self.conditions), default=1.0)

    def groups(self, reading: Reading) -> dict[str, str]:
        if self._of_secret:
            return {}
        for text in reading.texts(self.subject):
            for condition in self.conditions:
                if text.meets(condition):
                    return condition.groups(text.plain)
        return {}


@dataclass(frozen=True, slots=True)
class ToolCallCheck:
    """An earlier assistant message called a tool so."""

    field: str
    expected: str
    name: CompiledText | None
    arguments: Json

    @property
    def needs(self) -> tuple[Need, ...]:
        return () if self.name is None else (Need(Subject("tool_call"), (self.name,)),)

    @property
    def group_names(self) -> tuple[str, ...]:
        return ()

    def holds(self, reading: Reading) -> bool:
        return any(self._named(call) and self._argued(call, got) for call, got in reading.calls)

    def actual(self, reading: Reading) -> str:
        return _several(f"{call.name} {call.arguments}" for call, _ in reading.calls) or "no calls"

    def distance(self, reading: Reading) -> float:
        """0.5 for a call of the right tool with other arguments."""
        return min(
            (
                (not self._named(call)) * 0.5 + (not self._argued(call, got)) * 0.5
                for call, got in reading.calls
            ),
            default=1.0,
        )

    def groups(self, reading: Reading) -> dict[str, str]:
        return {}

    def _named(self, call: ToolCallPart) -> bool:
        return self.name is None or self.name.test(call.name)

    def _argued(self, call: ToolCallPart, got: Json) -> bool:
        return (
            self.arguments is None
            or call.arguments == self.arguments
            or is_subset(self.arguments, got)
        )


@dataclass(frozen=True, slots=True)
class ToolResultCheck:
    """The conversation holds a tool result that is all of this at once."""

    field: str
    expected: str
    text: CompiledText
    tool_call_id: CompiledText | None
    name: CompiledText | None
    is_error: bool | None

    @property
    def needs(self) -> tuple[Need, ...]:
        wanted = (
            (Subject("tool_result_id"), self.tool_call_id),
            (Subject("tool_result_name"), self.name),
            (Subject("tool_result"), self.text),
        )
        return tuple(Need(subject, (c,)) for subject, c in wanted if c is not None)

    @property
    def group_names(self) -> tuple[str, ...]:
        return self.text.group_names

    def holds(self, reading: Reading) -> bool:
        return self._first(reading) is not None

    def actual(self, reading: Reading) -> str:
        results = reading.request.tool_results
        return _several(_result(result) for result in results) or "no tool results"

    def distance(self, reading: Reading) -> float:
        results = reading.request.tool_results[-_COMPARED:]
        return min((self._distance(result) for result in results), default=1.0)

    def groups(self, reading: Reading) -> dict[str, str]:
        result = self._first(reading)
        return {} if result is None else self.text.groups(result.content)

    def _first(self, reading: Reading) -> ToolResultPart | None:
        for result in reading.request.tool_results:
            if not self._wrong(result) and self.text.test(result.content):
                return result
        return None

    def _wrong(self, result: ToolResultPart) -> int:
        return (
            (self.tool_call_id is not None and not self.tool_call_id.test(result.tool_call_id))
            + (self.name is not None and not self.name.test(result.name))
            + (self.is_error is not None and self.is_error != result.is_error)
        )

    def _distance(self, result: ToolResultPart) -> float:
        return (self._wrong(result) + text_distance(Text(result.content), self.text)) / 4


def is_subset(wanted: Json, got: Json) -> bool:
    """Whether `got` has all that is wanted: objects may have more keys at any depth, lists must
    have as many items, and true is not 1."""
    match wanted, got:
        case dict(), dict():
            return all(key in got and is_subset(wanted[key], got[key]) for key in wanted)
        case list(), list():
            return len(wanted) == len(got) and all(map(is_subset, wanted, got))
        case _:
            return wanted == got and isinstance(wanted, bool) == isinstance(got, bool)


def _message(subject: Subject) -> str:
    who = f"{subject.name} message".lstrip()
    which = subject.which
    return f"{who} {which}" if isinstance(which, int) else f"{which} {who}"


def _absence(subject: Subject) -> str:
    match subject.kind:
        case "message":
            return f"no {_message(subject)}"
        case "tool":
            return "no tools"
        case kind:
            return f"no {kind} {subject.name}"


def _result(result: ToolResultPart) -> str:
    failed = " (error)" if result.is_error else ""
    return f"{result.tool_call_id} {result.name}{failed}: {shorten(result.content)}"


def _several(texts: Iterable[str]) -> str:
    every = list(texts)
    left = len(every) - _SHOWN
    shown = ", ".join(quote(text) for text in every[-_SHOWN:])
    return f"{shown} and {left} more" if left > 0 else shown
