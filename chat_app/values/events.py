"""What a run says while it goes on, clean and ready to be shown: requirement 002's events, and the
two ends of a tool call, which requirement 004 has besides."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asked for; `arguments` is its JSON text, as the model sent it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer: no ␄, no control characters, no thinking."""

    content: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the model's thinking, as clean as the text."""

    content: str


@dataclass(frozen=True, slots=True)
class ToolCallStart:
    """The model began a call; its arguments follow."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a call's arguments."""

    id: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back, whole. A failed call's text begins `Error: ` and `code` says of what
    kind: SERVICE_UNAVAILABLE for a timeout or a dead server."""

    id: str
    result: str
    is_error: bool = False
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Complete:
    """The end of an answer: `text` is the TextDeltas joined, `thinking` the ThinkingDeltas or None.

    A cancelled run ends with one too, of what was sent until then.
    """

    text: str
    thinking: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Error:
    """The end of a run that failed; `code` is one of the error contract's."""

    message: str
    code: str


ToolStatus: TypeAlias = Literal["success", "error", "timeout", "cancelled"]


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is called now, with whole arguments; `at` knows its time zone."""

    call: ToolCall
    at: datetime


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool's call is over, `duration_ms` milliseconds after it started."""

    id: str
    status: ToolStatus
    duration_ms: int


StreamEvent: TypeAlias = (
    TextDelta | ThinkingDelta | ToolCallStart | ToolCallDelta | ToolResult | Complete | Error
)
RunEvent: TypeAlias = StreamEvent | ToolStarted | ToolEnded
