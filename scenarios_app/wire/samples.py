"""Sample requests in no provider's format, and how each provider's client would send them."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from scenarios_app.engine.canonical import Message
from scenarios_app.engine.parts import TextPart, ToolCallPart, ToolResultPart
from scenarios_app.wire.decoded import parse_json

JsonObject: TypeAlias = dict[str, Any]

API_KEY = "try-it"
CALL_ID = "call_1"
# The text of the earlier messages that a request for a later turn needs.
FILLER = "…"


class SampleRequest(msgspec.Struct, frozen=True):
    """A request in no provider's format. `tool_result` is the result of calling `tool_name`. A
    `conversation` replaces these and the user's message."""

    user: str
    model: str = "gpt-4o"
    system: str = ""
    tools: tuple[str, ...] = ()
    tool_name: str = ""
    tool_result: str = ""
    turn: int = 1
    stream: bool = True
    conversation: tuple[Message, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation without system prompt, after fillers that give the next answer number
        `turn`."""
        if self.conversation:
            return self.conversation
        before = max(self.turn - 1 - bool(self.tool_name), 0)
        messages = [_text_message("user", FILLER), _text_message("assistant", FILLER)] * before
        messages.append(_text_message("user", self.user))
        if self.tool_name:
            messages += [
                Message("assistant", (ToolCallPart(CALL_ID, self.tool_name, "{}"),)),
                Message("tool", (ToolResultPart(CALL_ID, self.tool_name, self.tool_result),)),
            ]
        return tuple(messages)


class SampleCall(msgspec.Struct, frozen=True):
    """A request in one provider's format: the raw path with its query, headers and body."""

    path: str
    headers: Mapping[str, str]
    body: JsonObject


class SdkSetup(msgspec.Struct, frozen=True):
    """The base URL and example code with which one SDK, `name`, uses a server."""

    name: str
    base_url: str
    code: str


def calls_of(message: Message) -> list[ToolCallPart]:
    return [part for part in message.parts if isinstance(part, ToolCallPart)]


def results_of(message: Message) -> list[ToolResultPart]:
    return [part for part in message.parts if isinstance(part, ToolResultPart)]


def arguments_of(call: ToolCallPart) -> JsonObject:
    """Return a call's arguments as an object, which some wires need; empty if they are not one."""
    value = parse_json(call.arguments)
    return value if isinstance(value, dict) else {}


def _text_message(role: Any, text: str) -> Message:
    return Message(role, (TextPart(text),))
