"""Reads Google's JSON the way protobuf does.

Names may be camelCase or snake_case, numbers may be strings, and a list of one object may lack its
brackets. Also encodes and decodes the signatures of reasoning.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeVar

from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError

T = TypeVar("T")

_UPPER = re.compile("[A-Z]")
# Limited in length: no field needs longer numbers.
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?")
_FLOAT = frozenset(".eE")


def to_snake_case(key: str) -> str:
    """Return the snake_case spelling of a camelCase name."""
    return _UPPER.sub(lambda hump: f"_{hump[0].lower()}", key)


# Only for names in this code: those in requests may be long.
_field_in_snake_case = lru_cache(maxsize=256)(to_snake_case)


def find_field(node: Node, key: str) -> Node | None:
    """Return the node at a key in either spelling, or None if it is missing or null."""
    fields = node.value if isinstance(node.value, dict) else node.object()
    if not fields:
        return None
    if (value := fields.get(key)) is None:
        key = _field_in_snake_case(key)
        value = fields.get(key)
    return None if value is None else Node(value, key, node)


def require_field(node: Node, key: str) -> Node:
    """Return the node at a key in either spelling; raise the 400 if it is missing or null."""
    field = find_field(node, key)
    if field is None:
        place = node.get(key).place
        raise WireError(400, f"{place}: the field is required", param=place)
    return field


def list_field(node: Node, key: str) -> Iterator[Node]:
    """Yield the nodes of a list at a key in either spelling. It may be missing, or be a single
    object; for another type, raise the 400."""
    field = find_field(node, key)
    if field is None:
        return iter(())
    return iter((field,)) if isinstance(field.value, dict) else field.items()


def read_field(node: Node, key: str, read: Callable[[Node], T]) -> T | None:
    """Return `read` of the node at a key in either spelling, or None if it is missing or null."""
    field = find_field(node, key)
    return None if field is None else read(field)


def text_field(node: Node, key: str) -> str | None:
    """Return the text at a key in either spelling, or None; raise the 400 for another type."""
    return read_field(node, key, Node.text)


def integer_field(node: Node, key: str) -> int | None:
    """Return the integer at a key in either spelling, or None; raise the 400 for another value."""
    return read_field(node, key, read_integer)


def read_number(node: Node) -> float:
    """Return a number, which may be sent as a string; raise the 400 for any other value."""
    return _parse_digits(node).number()


def read_integer(node: Node) -> int:
    """Return a whole number, also as a decimal or a string; raise the 400 for any other value."""
    read = _parse_digits(node)
    if isinstance(read.value, float) and read.value.is_integer():
        return int(read.value)
    return read.integer()


def _parse_digits(node: Node) -> Node:
    """Return a node with a number in place of numeric text; any other node unchanged."""
    if isinstance(node.value, str) and _NUMBER.fullmatch(node.value):
        value = float(node.value) if _FLOAT & set(node.value) else int(node.value)
        return Node(value, node.place)
    return node


_TO_STANDARD_BASE64 = str.maketrans("-_", "+/")


def encode_signature(signature: str) -> str:
    """Return a scripted signature as base64, unchanged if it is base64 already."""
    if _decode_base64(signature) is not None:
        return signature
    return b64encode(signature.encode("utf-8", "surrogatepass")).decode()


def decode_signature(sent: str) -> str:
    """Return a client's signature as the script has it; text that is not base64 stays unchanged."""
    standard = sent.translate(_TO_STANDARD_BASE64).rstrip("=")
    standard += "=" * (-len(standard) % 4)
    data = _decode_base64(standard)
    if data is None:
        return sent
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return standard
    return text if encode_signature(text) == standard else standard


def _decode_base64(text: str) -> bytes | None:
    """Return the bytes of standard, padded base64; None if it is invalid or empty."""
    try:
        data = b64decode(text, validate=True)
    except ValueError:
        return None
    return data if data and b64encode(data).decode() == text else None
