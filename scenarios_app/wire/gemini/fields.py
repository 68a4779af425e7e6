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

_HUMP = re.compile("[A-Z]")
# Of a length that no number needs to be longer than.
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?")
_FLOAT = frozenset(".eE")


@lru_cache(maxsize=1024)
def snake(key: str) -> str:
    """A name in camelCase as Google's other spelling has it."""
    return _HUMP.sub(lambda hump: f"_{hump[0].lower()}", key)


def maybe(node: Node, key: str) -> Node | None:
    """The node at a key in either spelling, None where it is missing or null."""
    return node.maybe(key) or node.maybe(snake(key))


def need(node: Node, key: str) -> Node:
    """As `maybe`, but the key must be there."""
    found = maybe(node, key)
    if found is None:
        place = node.get(key).place
        raise WireError(400, f"{place}: the field is required", param=place)
    return found


def listed(node: Node, key: str) -> Iterator[Node]:
    """The nodes of a list, which may be missing."""
    found = maybe(node, key)
    if found is None:
        return iter(())
    return iter((found,)) if isinstance(found.value, dict) else found.items()


def text_of(node: Node, key: str) -> str | None:
    found = maybe(node, key)
    return found.text() if found else None


def number_of(node: Node, key: str) -> float | None:
    found = maybe(node, key)
    return number(found) if found else None


def integer_of(node: Node, key: str) -> int | None:
    found = maybe(node, key)
    return integer(found) if found else None


def number(node: Node) -> float:
    """A number, or a text that is one."""
    return _read(node).number()


def integer(node: Node) -> int:
    """A whole number, also one with a point, or a text that is one."""
    read = _read(node)
    if isinstance(read.value, float) and read.value.is_integer():
        return int(read.value)
    return read.integer()


def _read(node: Node) -> Node:
    if isinstance(node.value, str) and _NUMBER.fullmatch(node.value):
        value = float(node.value) if _FLOAT & set(node.value) else int(node.value)
        return Node(value, node.place)
    return node


def flag_of(node: Node, key: str) -> bool | None:
    found = maybe(node, key)
    return found.flag() if found else None


def object_of(node: Node, key: str) -> dict[str, Json] | None:
    found = maybe(node, key)
    return found.object() if found else None


_STANDARD = str.maketrans("-_", "+/")


def encode_signature(signature: str) -> str:
    """A scripted signature as it is sent."""
    if _bytes_of(signature) is not None:
        return signature
    return b64encode(signature.encode("utf-8", "surrogatepass")).decode()


def decode_signature(sent: str) -> str:
    """What a client sends back as it was scripted; what is no base64 stays as it is."""
    standard = sent.translate(_STANDARD).rstrip("=")
    standard += "=" * (-len(standard) % 4)
    data = _bytes_of(standard)
    if data is None:
        return sent
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return standard
    return text if encode_signature(text) == standard else standard


def _bytes_of(text: str) -> bytes | None:
    """The bytes of standard, padded base64; None where a text is none, or empty."""
    try:
        data = b64decode(text, validate=True)
    except (Error, ValueError):
        return None
    return data if data and b64encode(data).decode() == text else None
