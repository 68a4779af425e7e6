"""Typed reading of an instruction block's JSON: every wrong turn names the place."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from scenarios_app.engine.canonical import Json

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def compact(value: object) -> str:
    """JSON as text, with nothing between its tokens."""
    return _ENCODER.encode(value)


class InstructionError(Exception):
    """What is wrong with a block, and where in it."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(": ".join(part for part in ("instruction block", place, message) if part))


@dataclass(frozen=True, slots=True)
class Item:
    """A JSON value and the place it stands at, such as `messages[0].text_message`.

    A missing key and an explicit null are the same.
    """

    value: Json
    place: str = ""

    def maybe(self, key: str) -> "Item | None":
        """The item at a key of this object, None where it is missing."""
        value = self.object().get(key)
        return None if value is None else self.at(key, value)

    def need(self, key: str) -> "Item":
        found = self.maybe(key)
        if found is None:
            raise self.at(key).wrong("missing")
        return found

    def at(self, key: str, value: Json = None) -> "Item":
        return Item(value, f"{self.place}.{key}" if self.place else key)

    def items(self) -> Iterator["Item"]:
        """The items of this list, which must hold some."""
        if not isinstance(self.value, list):
            raise self.wrong("expected a list")
        if not self.value:
            raise self.wrong("expected at least one")
        return (Item(item, f"{self.place}[{i}]") for i, item in enumerate(self.value))

    def object(self) -> dict[str, Json]:
        if isinstance(self.value, dict):
            return self.value
        raise self.wrong("expected an object")

    def text(self) -> str:
        if isinstance(self.value, str):
            return self.value
        raise self.wrong("expected a string")

    def name(self) -> str:
        if text := self.text():
            return text
        raise self.wrong("expected a string of at least one character")

    def whole(self, most: int) -> int:
        """A whole number, which some senders write as 3.0."""
        value = self.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most:
            return value
        raise self.wrong(f"expected a whole number from 0 to {most}")

    def wrong(self, message: str) -> InstructionError:
        return InstructionError(self.place, message)
