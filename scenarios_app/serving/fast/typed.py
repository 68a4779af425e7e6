"""Decodes the usual fields of a body into typed values, without nodes.

A typed reader gives what its endpoint's `Node` reader gives, or raises Unsure: then the `Node`
reader decides, and says what is wrong.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.body import Limits, count_separators, read_body
from scenarios_app.wire.errors import WireError

T = TypeVar("T")


class Unsure(Exception):
    """Raised by a typed reader for an invalid or unusual body, which a `Node` reader then reads."""


class TypedBody(msgspec.Struct, forbid_unknown_fields=True):
    """Base of the types of bodies and their values. Decoding fails for an unknown field."""


# Levels of a body around its untyped values, at most.
_TYPED_LEVELS = 4


def body_decoder(
    kind: type[T], untyped: Callable[[T], Iterable[Json]]
) -> Callable[[bytes, Limits], T]:
    """Return a function that decodes a body of this type; it raises Unsure beyond the limits of
    levels and values. `untyped` returns the values whose types do not limit their depth."""
    decode = msgspec.json.Decoder(kind).decode

    def decode_within(body: bytes, limits: Limits) -> T:
        """Return a decoded body; raise Unsure if it is invalid or has too many levels or values."""
        try:
            if len(body) >= limits.nodes and sum(count_separators(body)) >= limits.nodes:
                # Only decoded values tell how many they are.
                read_body(body, limits)
            value = decode(body)
        except (WireError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Unsure from error
        # Each level has a bracket.
        if body.count(b"{") + body.count(b"[") >= limits.depth and _is_deeper(
            untyped(value), limits.depth - _TYPED_LEVELS
        ):
            raise Unsure
        return value

    return decode_within


def _is_deeper(values: Iterable[Json], maximum: int) -> bool:
    """Return whether any value is nested deeper than `maximum` levels."""
    level = [value for value in values if isinstance(value, dict | list)]
    while level and maximum > 0:
        maximum -= 1
        level = [
            child
            for value in level
            for child in (value.values() if isinstance(value, dict) else value)
            if isinstance(child, dict | list)
        ]
    return bool(level)


def require(value: T | None) -> T:
    """Return a value; raise Unsure if it is missing or null."""
    if value is None:
        raise Unsure
    return value
