"""Steering of a Response over a WebSocket: input that is queued while the response is sent, and
becomes the next request of its lane."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Final

import msgspec

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.base import encode_json

MAX_STEERS: Final = 16
# Responses whose steering waits for the results of their tools; the oldest are dropped.
MAX_WAITING: Final = 64
_KEYS = frozenset({"type", "previous_response_id", "input"})
_MESSAGE_KEYS = frozenset({"type", "role", "content", "id", "status"})
# The kind of the item that brings the result of each kind of call.
_RESULTS: Mapping[str, str] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
_decode = msgspec.json.Decoder().decode


class Steer(msgspec.Struct, frozen=True):
    """Queued input: its id, the id of the response that it steers, and the items that it adds."""

    id: str
    response: str
    input: Any
    items: tuple[Json, ...]

    @property
    def reference(self) -> dict[str, Json]:
        """The id of this input and that of the response, as events refer to them."""
        return {"id": self.id, "previous_response_id": self.response}


class Steering:
    """Makes the events about steering on one connection, and keeps input that waits for tools."""

    def __init__(self) -> None:
        self._numbers = count()
        self._waiting: OrderedDict[str, Sequence[Steer]] = OrderedDict()

    def accepted_event(self, steer: Steer) -> bytes:
        """Return the event that acknowledges queued input."""
        return self._event("accepted", steer=steer.reference)

    def failed_event(self, steer: dict[str, Json], code: str, message: str) -> bytes:
        """Return the event that sends refused input, `steer`, back to the client."""
        error: Json = {"type": "invalid_request_error", "code": code, "message": message}
        return self._event("failed", error=error, steer=steer)

    def failed_events(self, steers: Sequence[Steer]) -> list[bytes]:
        """Return the events that send input back to the client because its response failed."""
        failure = "successor_creation_failed", "The response failed, so that nothing continues it."
        inputs = [
            {"input": steer.input, "previous_response_id": steer.response, "id": steer.id}
            for steer in steers
        ]
        return [self.failed_event(each, *failure) for each in inputs]

    def keep_waiting(self, steers: Sequence[Steer], calls: Sequence[Json]) -> list[bytes]:
        """Keep input until the client sends these calls' results; return an event for each input.
        Beyond MAX_WAITING responses the oldest are dropped."""
        self._waiting[steers[0].response] = steers
        while len(self._waiting) > MAX_WAITING:
            self._waiting.popitem(last=False)
        reason: Json = "waiting_for_required_input"
        required: Json = [*calls]
        return [
            self._event("pending", steer=steer.reference, reason=reason, required_input=required)
            for steer in steers
        ]

    def pop_waiting(self, response: str) -> Sequence[Steer]:
        """Return and forget the input that waits for a request that continues this response."""
        return self._waiting.pop(response, ())

    def _event(self, kind: str, **fields: Json) -> bytes:
        """Return an event about steering with the connection's next number."""
        kind, number = f"response.steer.{kind}", next(self._numbers)
        return encode_json({"type": kind, "sequence_number": number, **fields})


def joined_items(steers: Sequence[Steer]) -> tuple[Json, ...]:
    """Return the items of several steering events, in their order."""
    return tuple(item for steer in steers for item in steer.items)


def input_items(value: Json) -> tuple[Json, ...]:
    """Return the input of a request as items; a text is a user's message."""
    if isinstance(value, list):
        return tuple(value)
    return () if value is None else ({"type": "message", "role": "user", "content": value},)


def read_steer_items(event: Mapping[str, Json]) -> tuple[Json, ...] | None:
    """Return the items of a steering event, or None if it is not valid: only messages of the user
    and results of functions are allowed."""
    value = event.get("input")
    if event.keys() - _KEYS or not isinstance(value, str | list) or not value:
        return None
    items = input_items(value)
    return items if all(map(_is_steering_item, items)) else None


def required_results(last_event: bytes) -> list[Json]:
    """Return stubs of the tool results that the response in a last event needs from the client."""
    output = _decode(last_event)["response"].get("output") or []
    stubs: list[Json] = []
    for item in output:
        if result := _RESULTS.get(item.get("type")):
            named = {"name": item.get("name")} if result == "function_call_output" else {}
            stubs.append({"type": result, "call_id": item.get("call_id"), **named})
    return stubs


def _is_steering_item(item: Json) -> bool:
    """Return True for an item that may steer a response: a user message or a function's output."""
    if not isinstance(item, dict):
        return False
    kind = item.get("type", "message")
    if kind == "message":
        return item.get("role") == "user" and not item.keys() - _MESSAGE_KEYS
    return kind == "function_call_output"
