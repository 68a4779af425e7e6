"""Reads foreign JSON and YAML value by value; errors name the location in the file."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scenarios_app.engine.shapes import DocumentError, Loc, Problem, format_location


@dataclass(frozen=True, slots=True)
class FileValue:
    """A value in the file `source`, with its location `loc`. A missing key has the value None."""

    value: Any
    source: str
    loc: Loc = ()

    def at(self, key: str) -> "FileValue":
        """Return the member of an object; raises DocumentError for any other value."""
        return FileValue(self.object().get(key), self.source, (*self.loc, key))

    def maybe(self, key: str) -> "FileValue":
        """Return the member of an object, or a missing value if this is no object."""
        value = self.value.get(key) if isinstance(self.value, dict) else None
        return FileValue(value, self.source, (*self.loc, key))

    def first(self, *keys: str) -> "FileValue":
        """Return the member of an object at the first of these keys that it has, or a missing
        one."""
        members = list(map(self.maybe, keys))
        return next((member for member in members if member.is_present), members[-1])

    @property
    def is_present(self) -> bool:
        return self.value is not None

    def object(self) -> dict[str, Any]:
        """Return the value if it is an object; raises DocumentError."""
        if isinstance(self.value, dict):
            return self.value
        raise self.type_error("an object")

    def items(self) -> Iterator["FileValue"]:
        """Return the items of a list, none if it is missing; raises DocumentError."""
        if self.value is None:
            return iter(())
        if not isinstance(self.value, list):
            raise self.type_error("a list")
        return (FileValue(item, self.source, (*self.loc, n)) for n, item in enumerate(self.value))

    def text(self) -> str:
        """Return the value if it is a text; raises DocumentError."""
        if isinstance(self.value, str):
            return self.value
        raise self.type_error("a text")

    def data(self) -> bytes:
        """Return a text or bytes as bytes, none if it is missing; raises DocumentError."""
        match self.value:
            case None:
                return b""
            case str(text):
                return text.encode("utf-8", "surrogatepass")
            case bytes(data):
                return data
            case _:
                raise self.type_error("a text or bytes")

    def base64(self) -> bytes:
        """Return the bytes of a text in Base64, which may have line ends; raises DocumentError."""
        text = "".join(self.text().split())
        try:
            return base64.b64decode(text, validate=True)
        except ValueError:
            raise self.error("its body is declared as Base64, but is not") from None

    def integer(self) -> int:
        """Return the value if it is a whole number; raises DocumentError."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return self.value
        raise self.type_error("a whole number")

    def status(self) -> int:
        """Return an HTTP status from 200 to 599, which may be text; raises DocumentError."""
        text = self.value
        # Not `isdecimal` alone: Python converts no number of more than 4,300 digits.
        is_number = isinstance(text, str) and len(text) == 3 and text.isdecimal()
        status = int(text) if is_number else self.integer()
        if 200 <= status <= 599:
            return status
        raise self.type_error("an HTTP status from 200 to 599")

    def type_error(self, wanted: str) -> DocumentError:
        """Return the error that a value of another type is expected here."""
        return self.error(f"expected {wanted}")

    def error(self, message: str) -> DocumentError:
        return DocumentError.of([Problem(format_location(self.loc), message, self.source)])


def read_headers(place: FileValue) -> tuple[tuple[str, str], ...]:
    """Return headers from an object of values or lists, or a list of pairs or of objects with
    `name` and `value`; none if they are missing. Raises DocumentError."""
    match place.value:
        case None:
            return ()
        case dict(headers):
            return tuple(
                (str(name), _header_text(line, place))
                for name, value in headers.items()
                for line in (value if isinstance(value, list) else [value])
            )
        case list():
            return tuple(map(_header_of_pair, place.items()))
        case _:
            raise place.type_error("headers: an object or a list")


def _header_of_pair(place: FileValue) -> tuple[str, str]:
    """Return the name and the value of a header in a list; raises DocumentError."""
    match place.value:
        case [name, value] | {"name": name, "value": value}:
            return _header_text(name, place), _header_text(value, place)
        case _:
            raise place.type_error("a header: its name and its value")


def _header_text(value: Any, place: FileValue) -> str:
    """Return a header's name or value as text; raises DocumentError."""
    match value:
        case str():
            return value
        case bytes():
            return value.decode("utf-8", "replace")
        case bool() | int() | float():
            return str(value)
        case _:
            raise place.type_error("texts as headers")
