"""Conditions on tools: offered, called by earlier answers, and their results."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from pydantic import JsonValue

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.conditions import base as say
from scenarios_app.engine.conditions.base import COMPARED, AboutText, Condition, Need, several
from scenarios_app.engine.conditions.subjects import (
    Reading,
    Subject,
    Text,
    sanitise_tool_name,
    text_distance,
)
from scenarios_app.engine.conditions.text_shapes import TextConditionDocument
from scenarios_app.engine.conditions.texts import TextCondition, quote, shorten
from scenarios_app.engine.parts import ToolCallPart, ToolResultPart
from scenarios_app.engine.shapes import Document, Finding, reads_string, writes_string
from scenarios_app.engine.shapes.fields import Flag, SomeText


@dataclass(frozen=True, slots=True)
class OfferedToolCondition(AboutText):
    """A tool is offered."""

    key = "tools"
    shape = list[SomeText]
    empty = list
    meaning = "Names of tools that must all be offered."
    keyword = "with_tools"

    name: str

    @classmethod
    def compiled(cls, value: list[str], place: str) -> Iterator[Condition]:
        for number, name in enumerate(value):
            exact = (TextCondition(equals=sanitise_tool_name(name)),)
            yield cls(f"{place}[{number}]", Subject(cls.read), exact, name)

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if said := say.first_names(say.listed(value)):
            yield f"offers {said}"

    @staticmethod
    def read(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return dict.fromkeys(sanitise_tool_name(tool.name) for tool in request.tools)

    @property
    def expected(self) -> str:
        return f"tool {quote(self.name)}"

    @property
    def absence(self) -> str:
        return "no tools"


class ToolCallConditionDocument(Document):
    """A tool call in an earlier assistant message."""

    name: SomeText | None = None
    """The tool's name."""
    arguments: dict[str, JsonValue] | None = None
    """A part of its arguments: these keys with these values, and others beside them."""


@dataclass(frozen=True, slots=True)
class ToolCallCondition(Condition):
    """An earlier call by `name` whose arguments contain `arguments` (a subset, deep)."""

    key = "tool_calls"
    shape = list[ToolCallConditionDocument]
    empty = list
    meaning = "Calls that earlier answers have made; all must be there."
    keyword = "with_tool_call"

    name: TextCondition | None
    arguments: Json = None

    @classmethod
    def compiled(cls, value: list[ToolCallConditionDocument], place: str) -> Iterator[Condition]:
        for number, one in enumerate(value):
            yield cls(f"{place}[{number}]", _exactly(one.name), one.arguments)

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        for one in say.listed(value):
            yield f"called {say.text_at(one, 'name') or 'a tool'}"

    @staticmethod
    def read(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return (call.name for call in request.tool_calls)

    @property
    def expected(self) -> str:
        wanted = "a tool call" if self.name is None else f"call of {quote(self.name.equals or '')}"
        if self.arguments is not None:
            wanted += f" with {shorten(json.dumps(self.arguments, ensure_ascii=False))}"
        return wanted

    @property
    def needs(self) -> tuple[Need, ...]:
        return () if self.name is None else (Need(Subject(self.read), (self.name,)),)

    def holds(self, reading: Reading) -> bool:
        return any(self._named(call) and self._argued(call, got) for call, got in reading.calls)

    def actual(self, reading: Reading) -> str:
        return several(f"{call.name} {call.arguments}" for call, _ in reading.calls) or "no calls"

    def distance(self, reading: Reading) -> float:
        """0.5 for a call of the right tool with other arguments."""
        return min(
            (
                (not self._named(call)) * 0.5 + (not self._argued(call, got)) * 0.5
                for call, got in reading.calls
            ),
            default=1.0,
        )

    def implies(self, wide: Condition) -> bool:
        return (
            isinstance(wide, ToolCallCondition)
            and _given(self.name, wide.name)
            and (
                wide.arguments is None
                or (self.arguments is not None and is_subset(wide.arguments, self.arguments))
            )
        )

    @property
    def awaits_result(self) -> bool:
        return True

    @property
    def may_be_masked(self) -> bool:
        return True

    def _named(self, call: ToolCallPart) -> bool:
        return self.name is None or self.name.test(call.name)

    def _argued(self, call: ToolCallPart, got: Json) -> bool:
        return (
            self.arguments is None
            or call.arguments == self.arguments
            or is_subset(self.arguments, got)
        )


class WhichResult(Document):
    """Which tool result is meant."""

    name: SomeText | None = None
    """The name of the tool that was called."""
    tool_call_id: SomeText | None = None
    """The id of the call that it belongs to."""
    is_error: Flag | None = None
    """Whether the tool failed, on wires that say so."""


class ToolResultConditionDocument(TextConditionDocument, WhichResult):
    """A tool's result in the conversation, and what its text is like."""

    def findings(self) -> Iterable[Finding]:
        return ()


OneResult: TypeAlias = Annotated[
    ToolResultConditionDocument,
    reads_string(ToolResultConditionDocument, "equals"),
    writes_string("equals"),
]


@dataclass(frozen=True, slots=True)
class ToolResultCondition(Condition):
    """The conversation holds a tool result that is all of this at once."""

    key = "tool_results"
    shape = list[OneResult]
    empty = list
    meaning = "Results of tools that the request brings; all must be there."
    keyword = "with_tool_result"

    text: TextCondition
    tool_call_id: TextCondition | None = None
    name: TextCondition | None = None
    is_error: bool | None = None

    @classmethod
    def compiled(cls, value: list[ToolResultConditionDocument], place: str) -> Iterator[Condition]:
        for number, one in enumerate(value):
            tool_call_id, name = _exactly(one.tool_call_id), _exactly(one.name)
            yield cls(f"{place}[{number}]", one.compiled(), tool_call_id, name, one.is_error)

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        for one in say.listed(value):
            name = say.text_at(one, "name")
            parts = ("result", name and f"of {name}", say.tests(one))
            yield " ".join(part for part in parts if part)

    @staticmethod
    def read(request: CanonicalRequest, subject: Subject) -> Iterable[str]:
        return (getattr(result, subject.name) for result in request.tool_results)

    @property
    def expected(self) -> str:
        wanted = f"tool result that {self.text.describe()}"
        if self.name is not None:
            wanted += f", of tool {quote(self.name.equals or '')}"
        if self.tool_call_id is not None:
            wanted += f", for call {quote(self.tool_call_id.equals or '')}"
        if self.is_error is not None:
            wanted += ", an error" if self.is_error else ", no error"
        return wanted

    @property
    def needs(self) -> tuple[Need, ...]:
        found = ("tool_call_id", self.tool_call_id), ("name", self.name)
        wanted = (*found, ("content", self.text))
        return tuple(Need(Subject(self.read, at), (c,)) for at, c in wanted if c is not None)

    @property
    def group_names(self) -> tuple[str, ...]:
        return self.text.group_names

    def holds(self, reading: Reading) -> bool:
        return self._first(reading) is not None

    def actual(self, reading: Reading) -> str:
        return several(map(_told, reading.request.tool_results)) or "no tool results"

    def distance(self, reading: Reading) -> float:
        results = reading.request.tool_results[-COMPARED:]
        return min((self._distance(result) for result in results), default=1.0)

    def groups(self, reading: Reading) -> dict[str, str]:
        result = self._first(reading)
        return {} if result is None else self.text.groups(result.content)

    def implies(self, wide: Condition) -> bool:
        return (
            isinstance(wide, ToolResultCondition)
            and self.text.implies(wide.text)
            and _given(self.tool_call_id, wide.tool_call_id)
            and _given(self.name, wide.name)
            and wide.is_error in (None, self.is_error)
        )

    @property
    def awaits_result(self) -> bool:
        return True

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


def _exactly(text: str | None) -> TextCondition | None:
    return None if text is None else TextCondition(equals=text)


def _given(narrow: TextCondition | None, wide: TextCondition | None) -> bool:
    return wide is None or (narrow is not None and narrow.implies(wide))


def _told(result: ToolResultPart) -> str:
    failed = " (error)" if result.is_error else ""
    return f"{result.tool_call_id} {result.name}{failed}: {shorten(result.content)}"
