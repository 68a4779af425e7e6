"""Conditions on tools: offered tools, earlier calls and their results."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, TypeAlias, Unpack

from pydantic import JsonValue

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.conditions.base import (
    MAX_COMPARED_TEXTS,
    Condition,
    Need,
    SubjectTextCondition,
    builder_item,
    builder_value,
    case_hint,
    quote_last,
)
from scenarios_app.engine.conditions.phrases import (
    as_list,
    get_short_text,
    list_first_names,
    phrase_text_condition,
)
from scenarios_app.engine.conditions.subjects import (
    ComparedText,
    RequestReader,
    Subject,
    sanitise_tool_name,
    text_distance,
)
from scenarios_app.engine.conditions.text_shapes import (
    ConditionKeys,
    TextConditionDocument,
    TextShape,
)
from scenarios_app.engine.conditions.texts import TextCondition, quote, shorten
from scenarios_app.engine.parts import INPUT, ToolCallPart, ToolResultPart
from scenarios_app.engine.shapes import (
    Document,
    KeyProblem,
    dump_as_string,
    fields,
    parse_from_string,
)


@dataclass(frozen=True, slots=True)
class OfferedToolCondition(SubjectTextCondition):
    """The request offers a tool."""

    key = "tools"
    shape = list[fields.SomeText]
    empty = list
    meaning = "Names of tools that must all be offered."

    name: str

    @builder_value
    @staticmethod
    def with_tools(*names: str) -> object:
        """Match requests that offer all these tools."""
        return list(names)

    @classmethod
    def compile(cls, value: list[str], field: str) -> Iterator[Condition]:
        for number, name in enumerate(value):
            exact = (TextCondition(equals=sanitise_tool_name(name)),)
            yield cls(f"{field}[{number}]", Subject(cls.read_texts), exact, name)

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if phrase := list_first_names(as_list(value)):
            yield f"offers {phrase}"

    @staticmethod
    def read_texts(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        return dict.fromkeys(sanitise_tool_name(tool.name) for tool in request.tools)

    @property
    def expected(self) -> str:
        return f"tool {quote(self.name)}"


class ToolCallConditionDocument(Document):
    """A tool call in an earlier assistant message."""

    name: fields.SomeText | None = None
    """The tool's name."""
    arguments: dict[str, JsonValue] | None = None
    """A subset of its arguments."""
    input: TextShape | None = None
    """The input of a custom tool, or a function's argument `input`."""
    namespace: fields.SomeText | None = None
    """The namespace of the tool, where the call names it."""

    def compile(self, field: str) -> "ToolCallCondition":
        """Return the condition in the form that tests requests."""
        text = self.input.compile() if self.input else None
        return ToolCallCondition(field, self.name, self.arguments, text, self.namespace)


@dataclass(frozen=True, slots=True)
class ToolCallCondition(Condition):
    """An earlier call of `name` with `arguments` (a deep subset) and with `input`; None means
    any."""

    key = "tool_calls"
    shape = list[ToolCallConditionDocument]
    empty = list
    meaning = "Tool calls in earlier answers; all must be present."

    @builder_item
    @staticmethod
    def with_tool_call(name: str, input: str | None = None, /, **arguments: object) -> object:
        """Match an earlier call of this tool with at least these arguments, or with this input."""
        keys = {"arguments": arguments or None, "input": input}
        return {"name": name, **{key: value for key, value in keys.items() if value is not None}}

    requires_tool_result = True
    may_be_masked = True

    name: str | None
    arguments: Json = None
    input: TextCondition | None = None
    namespace: str | None = None

    @classmethod
    def compile(cls, value: list[ToolCallConditionDocument], field: str) -> Iterator[Condition]:
        return (call.compile(f"{field}[{number}]") for number, call in enumerate(value))

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        for condition in as_list(value):
            yield f"called {get_short_text(condition, 'name') or 'a tool'}"

    @staticmethod
    def read_texts(request: CanonicalRequest, _: Subject) -> Iterable[str]:
        """Return the names of the called tools, by which the index files the step."""
        return (call.name for call in request.tool_calls)

    @property
    def expected(self) -> str:
        text = "a tool call" if self.name is None else f"call of {quote(self.name)}"
        if self.arguments is not None:
            text += f" with {shorten(json.dumps(self.arguments, ensure_ascii=False))}"
        if self.input is not None:
            text += f" with input that {self.input.describe()}"
        if self.namespace is not None:
            text += f", in namespace {quote(self.namespace)}"
        return text

    @property
    def needs(self) -> tuple[Need, ...]:
        return () if self.name is None else (_exact_need(Subject(self.read_texts), self.name),)

    @property
    def group_names(self) -> tuple[str, ...]:
        return () if self.input is None else self.input.group_names

    def holds(self, reader: RequestReader) -> bool:
        return self._find_call(reader) is not None

    def groups(self, reader: RequestReader) -> dict[str, str]:
        call = self._find_call(reader)
        return {} if self.input is None or call is None else self.input.groups(input_of(*call))

    def actual(self, reader: RequestReader) -> str:
        calls = (f"{call.full_name} {call.arguments}" for call, _ in reader.calls)
        return quote_last(calls) or "no calls"

    def distance(self, reader: RequestReader) -> float:
        """Return the distance of the nearest call: 0.5 for the right tool with other arguments."""
        return min(
            (
                (not self._has_name(call)) * 0.5 + (not self._has_arguments(call, got)) * 0.5
                for call, got in reader.calls
            ),
            default=1.0,
        )

    def implies(self, wide: Condition) -> bool:
        return (
            isinstance(wide, ToolCallCondition)
            and wide.name in (None, self.name)
            and wide.namespace in (None, self.namespace)
            and (wide.input is None or (self.input is not None and self.input.implies(wide.input)))
            and (
                wide.arguments is None
                or (self.arguments is not None and is_subset(wide.arguments, self.arguments))
            )
        )

    def _find_call(self, reader: RequestReader) -> tuple[ToolCallPart, Json] | None:
        """Return the first call with this name and these arguments, with its parsed arguments, or
        None."""
        for call, got in reader.calls:
            if self._has_name(call) and self._has_arguments(call, got):
                return call, got
        return None

    def _has_name(self, call: ToolCallPart) -> bool:
        """Return True if the call has this name and namespace, as far as they are given."""
        return self.name in (None, call.name) and self.namespace in (None, call.namespace)

    def _has_arguments(self, call: ToolCallPart, got: Json) -> bool:
        """Return True if the arguments `got`, and the input in them, meet this condition."""
        return (
            self.arguments is None
            or call.arguments == self.arguments
            or is_subset(self.arguments, got)
        ) and (self.input is None or self.input.test(input_of(call, got)))


class ToolResultSelector(Document):
    """Selects a tool result by tool, call and outcome."""

    name: fields.SomeText | None = None
    """The name of the tool that was called."""
    tool_call_id: fields.SomeText | None = None
    """The id of the call that it belongs to."""
    is_error: fields.Flag | None = None
    """True for a failed tool, on APIs that report it."""


class ToolResultConditionDocument(TextConditionDocument, ToolResultSelector):
    """A tool's result in the conversation and a condition on its text."""

    def find_key_problems(self) -> Iterable[KeyProblem]:
        """Return no problems: without tests of the text, any text meets the condition."""
        return ()


ToolResultShape: TypeAlias = Annotated[
    ToolResultConditionDocument,
    parse_from_string(ToolResultConditionDocument, "equals"),
    dump_as_string("equals"),
]


class ResultKeys(ConditionKeys, total=False):
    """The keys of a ToolResultConditionDocument other than the tool's name."""

    tool_call_id: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class ToolResultCondition(Condition):
    """The conversation holds one tool result that meets all of these fields."""

    key = "tool_results"
    shape = list[ToolResultShape]
    empty = list
    meaning = "Tool results in the request; all must be present."

    @builder_item
    @staticmethod
    def with_tool_result(name: str | None = None, /, **condition: Unpack[ResultKeys]) -> object:
        """Match a tool's result by the tool's name and a condition."""
        return condition if name is None else {"name": name, **condition}

    requires_tool_result = True

    text: TextCondition
    tool_call_id: str | None = None
    name: str | None = None
    is_error: bool | None = None

    @classmethod
    def compile(cls, value: list[ToolResultConditionDocument], field: str) -> Iterator[Condition]:
        for number, result in enumerate(value):
            text, place = result.compile(), f"{field}[{number}]"
            yield cls(place, text, result.tool_call_id, result.name, result.is_error)

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        for condition in as_list(value):
            name = get_short_text(condition, "name")
            parts = ("result", name and f"of {name}", phrase_text_condition(condition))
            yield " ".join(part for part in parts if part)

    @staticmethod
    def read_texts(request: CanonicalRequest, subject: Subject) -> Iterable[str]:
        """Return the field `subject.name` of each tool result."""
        return (getattr(result, subject.name) for result in request.tool_results)

    @property
    def expected(self) -> str:
        text = f"tool result that {self.text.describe()}"
        if self.name is not None:
            text += f", of tool {quote(self.name)}"
        if self.tool_call_id is not None:
            text += f", for call {quote(self.tool_call_id)}"
        if self.is_error is not None:
            text += ", an error" if self.is_error else ", no error"
        return text

    @property
    def needs(self) -> tuple[Need, ...]:
        named = ("tool_call_id", self.tool_call_id), ("name", self.name)
        needs = [
            _exact_need(Subject(self.read_texts, at), name)
            for at, name in named
            if name is not None
        ]
        return (*needs, Need(Subject(self.read_texts, "content"), (self.text,)))

    @property
    def group_names(self) -> tuple[str, ...]:
        return self.text.group_names

    def holds(self, reader: RequestReader) -> bool:
        return self._find_result(reader) is not None

    def actual(self, reader: RequestReader) -> str:
        results = reader.request.tool_results
        contents = [result.content for result in results]
        hint = "" if self.holds(reader) else case_hint((self.text,), contents)
        return quote_last(map(_describe_result, results)) + hint or "no tool results"

    def distance(self, reader: RequestReader) -> float:
        results = reader.request.tool_results[-MAX_COMPARED_TEXTS:]
        return min((self._result_distance(result) for result in results), default=1.0)

    def groups(self, reader: RequestReader) -> dict[str, str]:
        result = self._find_result(reader)
        return {} if result is None else self.text.groups(result.content)

    def implies(self, wide: Condition) -> bool:
        return (
            isinstance(wide, ToolResultCondition)
            and self.text.implies(wide.text)
            and wide.tool_call_id in (None, self.tool_call_id)
            and wide.name in (None, self.name)
            and wide.is_error in (None, self.is_error)
        )

    def _find_result(self, reader: RequestReader) -> ToolResultPart | None:
        """Return the first result that passes, or None."""
        for result in reader.request.tool_results:
            if not self._count_wrong_fields(result) and self.text.test(result.content):
                return result
        return None

    def _count_wrong_fields(self, result: ToolResultPart) -> int:
        """Return how many of call id, tool name and error flag differ from those given; the text is
        not tested."""
        return (
            (self.tool_call_id not in (None, result.tool_call_id))
            + (self.name not in (None, result.name))
            + (self.is_error not in (None, result.is_error))
        )

    def _result_distance(self, result: ToolResultPart) -> float:
        """Return how far a result is from this condition: 0 if it passes, at most 1."""
        text_part = text_distance(ComparedText(result.content), self.text)
        return (self._count_wrong_fields(result) + text_part) / 4


def input_of(call: ToolCallPart, arguments: Json) -> str:
    """Return a custom tool's input or a function's argument `input`, else an empty text."""
    value = call.arguments if call.custom else isinstance(arguments, dict) and arguments.get(INPUT)
    return value if isinstance(value, str) else ""


def is_subset(wanted: Json, got: Json) -> bool:
    """Return True if `got` contains everything in `wanted`: objects may have more keys at any
    depth, lists must have the same length, and true is not 1."""
    match wanted, got:
        case dict(), dict():
            return all(key in got and is_subset(wanted[key], got[key]) for key in wanted)
        case list(), list():
            return len(wanted) == len(got) and all(map(is_subset, wanted, got))
        case _:
            return wanted == got and isinstance(wanted, bool) == isinstance(got, bool)


def _exact_need(subject: Subject, text: str) -> Need:
    return Need(subject, (TextCondition(equals=text),))


def _describe_result(result: ToolResultPart) -> str:
    failed = " (error)" if result.is_error else ""
    return f"{result.tool_call_id} {result.name}{failed}: {shorten(result.content)}"
