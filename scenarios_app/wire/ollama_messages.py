"""Reads the messages of an Ollama chat, in which tool results follow their calls without an id."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scenarios_app.engine.canonical import Message, Role
from scenarios_app.engine.parts import (
    MessagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from scenarios_app.wire.base import encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.ollama_fields import images_of, need, text_of

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


def read_messages(node: Node) -> tuple[Message, ...]:
    """The conversation. Its calls have the ids `call_1`, `call_2`, … where they bring none."""
    reading = _Reading()
    return tuple(map(reading.message, node.items()))


@dataclass(slots=True)
class _Reading:
    """A conversation as far as it is read. `open` are the calls of the last message that made
    some, those that have no result yet; `given` are the ids that calls have of their own."""

    calls: int = 0
    open: list[ToolCallPart] = field(default_factory=list)
    given: set[str] = field(default_factory=set)

    def message(self, node: Node) -> Message:
        named = need(node, "role")
        role = _ROLES.get(named.text().lower())
        if role is None:
            expected = ", ".join(_ROLES)
            raise WireError(
                400, f"{named.place}: invalid role {named.value!r}, must be one of {expected}"
            )
        match role:
            case "tool":
                return Message(role, (self._result(node),))
            case "assistant":
                return Message(role, self._said(node))
            case _:
                return Message(role, (*_text(node), *images_of(node)))

    def _said(self, node: Node) -> tuple[MessagePart, ...]:
        thinking = text_of(node, "thinking")
        thoughts = (ReasoningPart(thinking),) if thinking else ()
        listed = node.maybe("tool_calls")
        calls = tuple(map(self._call, listed.items())) if listed else ()
        if calls:
            self.open = list(calls)
        return (*thoughts, *_text(node), *images_of(node), *calls)

    def _call(self, node: Node) -> ToolCallPart:
        self.calls += 1
        function = need(node, "function")
        given = function.maybe("arguments")
        arguments = encode_json(given.object() if given else {}).decode()
        call_id = text_of(node, "id")
        if call_id:
            self.given.add(call_id)
        name = need(function, "name").text()
        return ToolCallPart(call_id or f"call_{self.calls}", name, arguments)

    def _result(self, node: Node) -> ToolResultPart:
        call_id, name = text_of(node, "tool_call_id"), text_of(node, "tool_name")
        content = text_of(node, "content")
        call = self._answered(call_id, name)
        if call is None:
            return ToolResultPart(call_id, name, content)
        self.open.remove(call)
        return ToolResultPart(call.id, name or call.name, content)

    def _answered(self, call_id: str, name: str) -> ToolCallPart | None:
        """The open call that a result is of: by its id, else the first with its tool's name, else
        the first. An id that no call has is one that the client made up for a call without any."""
        meant = [call for call in self.open if call.id == call_id]
        meant += [
            call
            for call in self.open
            if not (call_id and call.id in self.given) and name in ("", call.name)
        ]
        return meant[0] if meant else None


def _text(node: Node) -> tuple[TextPart, ...]:
    content = node.maybe("content")
    return (TextPart(content.text()),) if content else ()
