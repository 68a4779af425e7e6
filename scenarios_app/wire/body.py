"""Typed access to untrusted JSON: every type error is a 400 that names the path in the body."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import msgspec

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.errors import WireError

T = TypeVar("T")

_decode = msgspec.json.Decoder().decode
# Scanning a slice takes a few milliseconds.
SLICE_BYTES = 262_144


class Limits(msgspec.Struct, frozen=True):
    """The most levels and values that a body may have, and the most items of its `messages`."""

    depth: int = 64
    nodes: int = 200_000
    messages: int = 10_000


class Node(msgspec.Struct, frozen=True, gc=False):
    """A JSON value and its place in the body: at a key or index of the node that it is `inside`.

    A missing key and an explicit null are the same: a node whose value is `None`.
    """

    value: Json
    at: str | int = ""
    inside: "Node | None" = None

    @property
    def place(self) -> str:
        """The path in the body, such as `messages[0].content`. Computed only for errors."""
        if self.inside is None:
            return str(self.at)
        around = self.inside.place
        if isinstance(self.at, int):
            return f"{around}[{self.at}]"
        return f"{around}.{self.at}" if around else self.at

    def get(self, key: str) -> "Node":
        """Return the node at a key, with None if it is missing; raise the 400 for no object."""
        return Node(self.object().get(key), key, self)

    def maybe(self, key: str) -> "Node | None":
        """Return the node at a key, None if missing or null; raise the 400 if this is no object."""
        of = self.value if isinstance(self.value, dict) else self.object()
        value = of.get(key)
        return None if value is None else Node(value, key, self)

    def need(self, key: str) -> "Node":
        """Return the node at a key; raise the 400 if it is missing or null."""
        of = self.value if isinstance(self.value, dict) else self.object()
        if (value := of.get(key)) is not None:
            return Node(value, key, self)
        place = self.get(key).place
        message = f"Missing required parameter: '{place}'."
        raise WireError(400, message, param=place, code="missing_required_parameter")

    def optional(self, key: str, read: "Callable[[Node], T]") -> T | None:
        """Return what `read` returns for the node at a key; None if it is missing or null."""
        node = self.maybe(key)
        return None if node is None else read(node)

    def items_at(self, key: str) -> "Iterator[Node]":
        """Yield the nodes of the list at a key; none if null or missing, the 400 for no list."""
        node = self.maybe(key)
        return iter(()) if node is None else node.items()

    def object(self) -> dict[str, Json]:
        """Return the value if it is an object; raise the 400 for another type."""
        if isinstance(self.value, dict):
            return self.value
        raise self.wrong("an object")

    def text(self) -> str:
        """Return the value if it is a string; raise the 400 for another type."""
        if isinstance(self.value, str):
            return self.value
        raise self.wrong("a string")

    def flag(self) -> bool:
        """Return the value if it is a boolean; raise the 400 for another type."""
        if isinstance(self.value, bool):
            return self.value
        raise self.wrong("a boolean")

    def number(self) -> float:
        """Return the value as a float; raise the 400 if it is no number, or too large."""
        if isinstance(self.value, int | float) and not isinstance(self.value, bool):
            try:
                return float(self.value)
            except OverflowError:
                pass
        raise self.wrong("a number")

    def integer(self) -> int:
        """Return the value if it is an integer of any size; raise the 400 for another type."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return self.value
        raise self.wrong("an integer")

    def items(self) -> Iterator["Node"]:
        """Yield the nodes of this list, in order; raise the 400 right away if it is no list."""
        if not isinstance(self.value, list):
            raise self.wrong("an array")
        return (Node(item, number, self) for number, item in enumerate(self.value))

    def wrong(self, wanted: str) -> WireError:
        """Return the error for a value that is not `wanted`."""
        return WireError(
            400,
            f"Invalid type for '{self.place}': expected {wanted}, but got {_type_of(self.value)}.",
            param=self.place,
            code="invalid_type",
        )


def read_body(body: bytes, limits: Limits) -> Node:
    """Decode a request body; raise the 400 if it is no JSON object or exceeds the limits."""
    commas, openings = count_separators(body)
    if max(commas, openings) > limits.nodes and more_values_than(limits.nodes, body):
        raise _too_many_values(limits)
    try:
        value = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WireError(400, f"The body of the request is not valid JSON: {error}.") from None
    except RecursionError:
        raise _too_many_levels(limits) from None
    if commas + openings >= min(limits.depth, limits.nodes):
        # With fewer separators the value cannot exceed the limits.
        _check_limits(value, limits)
    if not isinstance(value, dict):
        raise WireError(400, f"The JSON body must be an object, but got {_type_of(value)}.")
    messages = value.get("messages")
    if isinstance(messages, list) and len(messages) > limits.messages:
        raise WireError(
            400,
            f"Invalid 'messages': at most {limits.messages} are taken, but got {len(messages)}.",
            param="messages",
            code="array_above_max_length",
        )
    return Node(value)


def _check_limits(value: Json, limits: Limits) -> None:
    """Raise the 400 for too many levels (an object or array is one) or too many values."""
    level: list[Json] = [value]
    nodes, depth = 1, 0
    while inner := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        nodes += sum(len(item) for item in inner)
        if depth > limits.depth:
            raise _too_many_levels(limits)
        if nodes > limits.nodes:
            raise _too_many_values(limits)
        level = [
            child for item in inner for child in (item.values() if isinstance(item, dict) else item)
        ]


def _too_many_values(limits: Limits) -> WireError:
    return WireError(400, f"The JSON body holds more than {limits.nodes} values.")


def _too_many_levels(limits: Limits) -> WireError:
    return WireError(400, f"The JSON body is nested deeper than {limits.depth} levels.")


_KINDS: Mapping[type, str] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal number",
    str: "a string",
    list: "an array",
}


def _type_of(value: Json) -> str:
    """Return the type of a JSON value for an error message, such as `a string`."""
    return _KINDS.get(type(value), "an object")


def more_values_than(maximum: int, data: bytes) -> bool:
    """Return whether JSON surely has more values than `maximum`, by counting its separators outside
    strings. If false, only decoding can tell. The result for invalid JSON is undefined."""
    if max(count_separators(data)) <= maximum:
        return False
    commas = openings = 0
    for outside in _outside_strings(data):
        more_commas, more_openings = count_separators(outside)
        commas, openings = commas + more_commas, openings + more_openings
        if max(commas, openings) > maximum:
            return True
    return False


def count_separators(data: bytes) -> tuple[int, int]:
    """Return the number of commas (each separates two values) and of opening brackets."""
    return data.count(b","), data.count(b"[") + data.count(b"{")


def _outside_strings(data: bytes) -> Iterator[bytes]:
    """Yield the parts of JSON that are outside strings, slice by slice."""
    inside, escaped = False, b""
    for start in range(0, len(data), SLICE_BYTES):
        piece = (escaped + data[start : start + SLICE_BYTES]).replace(b"\\\\", b"")
        # A backslash at the end escapes the first character of the next slice.
        escaped = b"\\" if piece.endswith(b"\\") else b""
        between = piece.removesuffix(escaped).replace(b'\\"', b"").split(b'"')
        yield b"".join(between[inside::2])
        inside ^= len(between) % 2 == 0
