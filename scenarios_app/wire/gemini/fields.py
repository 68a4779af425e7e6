"""Google's JSON as protobuf reads it: names in camelCase or snake_case, numbers as texts too, and a
list of one object without its brackets; and signatures of thoughts."""

import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterator
from functools import lru_cache

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError

_UPPER = re.compile("[A-Z]")
# Of a length that no number needs to be longer than.
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?")
_FLOAT = frozenset(".eE")


@lru_cache(maxsize=1024)
def to_snake_case(key: str) -> str:
    """A name in camelCase as Google's other spelling has it."""
    return _UPPER.sub(lambda hump: f"_{hump[0].lower()}", key)


def find_field(node: Node, key: str) -> Node | None:
    """The node at a key in either spelling, None where it is missing or null."""
    return node.maybe(key) or node.maybe(to_snake_case(key))


def require_field(node: Node, key: str) -> Node:
    """As `find_field`, but the key must be there."""
    field = find_field(node, key)
    if field is None:
        place = node.get(key).place
        raise WireError(400, f"{place}: the field is required", param=place)
    return field


def list_field(node: Node, key: str) -> Iterator[Node]:
    """The nodes of a list, which may be missing."""
    field = find_field(node, key)
    if field is None:
        return iter(())
    return iter((field,)) if isinstance(field.value, dict) else field.items()


def text_field(node: Node, key: str) -> str | None:
    field = find_field(node, key)
    return field.text() if field else None


def number_field(node: Node, key: str) -> float | None:
    field = find_field(node, key)
    return read_number(field) if field else None


def integer_field(node: Node, key: str) -> int | None:
    field = find_field(node, key)
    return read_integer(field) if field else None


def read_number(node: Node) -> float:
    """A number, or a text that is one."""
    return _parse_digits(node).number()


def read_integer(node: Node) -> int:
    """A whole number, also one with a point, or a text that is one."""
    read = _parse_digits(node)
    if isinstance(read.value, float) and read.value.is_integer():
        return int(read.value)
    return read.integer()


def _parse_digits(node: Node) -> Node:
    if isinstance(node.value, str) and _NUMBER.fullmatch(node.value):
        value = float(node.value) if _FLOAT & set(node.value) else int(node.value)
        return Node(value, node.place)
    return node


def flag_field(node: Node, key: str) -> bool | None:
    field = find_field(node, key)
    return field.flag() if field else None


def object_field(node: Node, key: str) -> dict[str, Json] | None:
    field = find_field(node, key)
    return field.object() if field else None


_TO_STANDARD_BASE64 = str.maketrans("-_", "+/")


def encode_signature(signature: str) -> str:
    """A scripted signature as it is sent."""
    if _decode_base64(signature) is not None:
        return signature
    return b64encode(signature.encode("utf-8", "surrogatepass")).decode()


def decode_signature(sent: str) -> str:
    """What a client sends back as it was scripted; what is no base64 stays as it is."""
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
    """The bytes of standard, padded base64; None where a text is none, or empty."""
    try:
        data = b64decode(text, validate=True)
    except (Error, ValueError):
        return None
    return data if data and b64encode(data).decode() == text else None
