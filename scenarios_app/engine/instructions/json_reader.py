"""Typed reading of an instruction block's JSON; errors name the location."""

from collections.abc import Iterator
from dataclasses import dataclass

from scenarios_app.engine.canonical import Json


class InstructionError(Exception):
    """An invalid instruction block, with the location of the error."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(": ".join(part for part in ("instruction block", place, message) if part))


@dataclass(frozen=True, slots=True)
class JsonCursor:
    """A JSON value and its location, such as `messages[0].text_message`. A missing key and an
    explicit null are treated the same."""

    value: Json
    place: str = ""

    def get(self, key: str) -> "JsonCursor | None":
        """Return the value at a key of this object, or None if it is missing or null."""
        value = self.object().get(key)
        return None if value is None else self.at(key, value)

    def text_at(self, key: str) -> str:
        """Return the text at a key, empty if it is missing or null."""
        item = self.get(key)
        return "" if item is None else item.text()

    def number_at(self, key: str, max_value: int) -> int | None:
        """Return the whole number at a key, or None if it is missing or null."""
        item = self.get(key)
        return None if item is None else item.whole_number(max_value)

    def require(self, key: str) -> "JsonCursor":
        """Return the value at a key of this object; raise `InstructionError` if it is missing or
        null."""
        item = self.get(key)
        if item is None:
            raise self.at(key).error("missing")
        return item

    def at(self, key: str, value: Json = None) -> "JsonCursor":
        """Return a cursor with this value and the location of this key; nothing is looked up."""
        return JsonCursor(value, f"{self.place}.{key}" if self.place else key)

    def items(self) -> Iterator["JsonCursor"]:
        """Return the items of this list, which must not be empty. Raises InstructionError."""
        if not isinstance(self.value, list):
            raise self.error("expected a list")
        if not self.value:
            raise self.error("expected at least one")
        return (JsonCursor(item, f"{self.place}[{i}]") for i, item in enumerate(self.value))

    def items_at(self, key: str) -> Iterator["JsonCursor"]:
        """Return the items of the list at a key; none if it is missing, null or empty."""
        item = self.get(key)
        return iter(()) if item is None or item.value == [] else item.items()

    def object(self) -> dict[str, Json]:
        """Return this object; raise InstructionError for another type."""
        if isinstance(self.value, dict):
            return self.value
        raise self.error("expected an object")

    def text(self) -> str:
        """Return this text; raise InstructionError for another type."""
        if isinstance(self.value, str):
            return self.value
        raise self.error("expected a string")

    def name(self) -> str:
        """Return this text; raise `InstructionError` if it is empty or no text."""
        if text := self.text():
            return text
        raise self.error("expected a string of at least one character")

    def whole_number(self, max_value: int) -> int:
        """Return a whole number from 0 up; accepts 3.0, which some clients send. Raises
        InstructionError."""
        value = self.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= max_value:
            return value
        raise self.error(f"expected a whole number from 0 to {max_value}")

    def error(self, message: str) -> InstructionError:
        return InstructionError(self.place, message)
