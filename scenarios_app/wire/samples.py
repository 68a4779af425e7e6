"""A request described without any provider's words, and what a provider's client would send."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from scenarios_app.engine.canonical import Message
from scenarios_app.engine.parts import TextPart, ToolCallPart, ToolResultPart

Json: TypeAlias = dict[str, Any]

KEY = "try-it"
CALL = "call_1"
# What stands in for messages that nobody wrote.
FILLER = "…"


class Asked(msgspec.Struct, frozen=True):
    """A request before any provider's words. `result` is that of a call of `called`. Where the
    whole `conversation` is given, it stands in place of these and of the user's message."""

    user: str
    model: str = "gpt-4o"
    system: str = ""
    tools: tuple[str, ...] = ()
    called: str = ""
    result: str = ""
    turn: int = 1
    stream: bool = True
    conversation: tuple[Message, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation without its system prompt, whose last answer is asked for: with
        exchanges before the user's message, so that it is this turn."""
        if self.conversation:
            return self.conversation
        before = max(self.turn - 1 - bool(self.called), 0)
        messages = [_said("user", FILLER), _said("assistant", FILLER)] * before
        messages.append(_said("user", self.user))
        if self.called:
            messages += [
                Message("assistant", (ToolCallPart(CALL, self.called, "{}"),)),
                Message("tool", (ToolResultPart(CALL, self.called, self.result),)),
            ]
        return tuple(messages)


class Sent(msgspec.Struct, frozen=True):
    """A request in one provider's words: the raw path with its query, the headers and the body."""

    path: str
    headers: Mapping[str, str]
    body: Json


class Sdk(msgspec.Struct, frozen=True):
    """How one SDK is pointed at a server."""

    name: str
    base_url: str
    code: str


def calls_of(message: Message) -> list[ToolCallPart]:
    return [part for part in message.parts if isinstance(part, ToolCallPart)]


def results_of(message: Message) -> list[ToolResultPart]:
    return [part for part in message.parts if isinstance(part, ToolResultPart)]


def arguments_of(call: ToolCallPart) -> Json:
    """The arguments as an object, which some wires want; empty where they are none."""
    try:
        value = json.loads(call.arguments)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}


def _said(role: Any, text: str) -> Message:
    return Message(role, (TextPart(text),))
