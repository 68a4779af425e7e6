"""The events of a run: requirement 002's, and requirement 004's start and end of a tool call."""

from datetime import datetime
from typing import Any, Literal, TypeAlias

from msgspec import Struct


class ToolCall(Struct, frozen=True):
    """A tool call of a model; `arguments` is its JSON text, which was not checked."""

    id: str
    name: str
    arguments: str


class TextDelta(Struct, frozen=True):
    """A piece of the answer: no ␄, no control characters, no thinking."""

    content: str


class ThinkingDelta(Struct, frozen=True):
    """A piece of the model's thinking, as clean as the text."""

    content: str


class ToolCallStart(Struct, frozen=True):
    """The model has started a tool call; its arguments follow."""

    id: str
    name: str


class ToolCallDelta(Struct, frozen=True):
    """A piece of a call's arguments."""

    id: str
    arguments: str


class ToolResult(Struct, frozen=True):
    """The uncut result of a tool. A failed call's text starts with `Error: `; `code` is its kind,
    such as SERVICE_UNAVAILABLE for a timeout or a dead server."""

    id: str
    result: str
    is_error: bool = False
    code: str | None = None


class Complete(Struct, frozen=True):
    """The end of an answer: `text` is the TextDeltas joined, `thinking` the ThinkingDeltas or None.
    A cancelled run ends with one too, of its partial answer."""

    text: str
    thinking: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()


class Error(Struct, frozen=True):
    """The end of a run that failed; `code` is one of the error contract's."""

    message: str
    code: str


ToolStatus: TypeAlias = Literal["success", "error", "timeout", "cancelled"]


class ToolStarted(Struct, frozen=True):
    """A tool is called with these arguments, text if they are no object; `at` is an aware time."""

    call: ToolCall
    arguments: dict[str, Any] | str
    at: datetime


class ToolEnded(Struct, frozen=True):
    """A tool call has ended with this status, `duration_ms` milliseconds after its start."""

    id: str
    status: ToolStatus
    duration_ms: int


StreamEvent: TypeAlias = (
    TextDelta | ThinkingDelta | ToolCallStart | ToolCallDelta | ToolResult | Complete | Error
)
RunEvent: TypeAlias = StreamEvent | ToolStarted | ToolEnded
