"""Foreign JSON and YAML read place by place: what is not as it should be is an error that names
where."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scenarios_app.engine.shapes import DocumentError, Loc, Problem, format_location


@dataclass(frozen=True, slots=True)
class Place:
    """A value and where it stands in the file `source`. A missing key is a value of None."""

    value: Any
    source: str
    loc: Loc = ()

    def at(self, key: str) -> "Place":
        """What an object has at a key."""
        return Place(self.object().get(key), self.source, (*self.loc, key))

    def maybe(self, key: str) -> "Place":
        """The same where this may be no object."""
        value = self.value.get(key) if isinstance(self.value, dict) else None
        return Place(value, self.source, (*self.loc, key))

    @property
    def is_present(self) -> bool:
        return self.value is not None

    def object(self) -> dict[str, Any]:
        if isinstance(self.value, dict):
            return self.value
        raise self.wrong("an object")

    def items(self) -> Iterator["Place"]:
        """What a list holds; nothing where it is missing."""
        if self.value is None:
            return iter(())
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        return (Place(item, self.source, (*self.loc, n)) for n, item in enumerate(self.value))

    def text(self) -> str:
        if isinstance(self.value, str):
            return self.value
        raise self.wrong("a text")

    def data(self) -> bytes:
        """A text or bytes."""
        match self.value:
            case str(text):
                return text.encode("utf-8", "surrogatepass")
            case bytes(data):
                return data
            case _:
                raise self.wrong("a text or bytes")

    def whole(self) -> int:
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return self.value
        raise self.wrong("a whole number")

    def status(self) -> int:
        """The status of an HTTP answer."""
        text = self.value
        # Not `isdecimal` alone: Python converts no number of more than 4,300 digits.
        is_number = isinstance(text, str) and len(text) == 3 and text.isdecimal()
        status = int(text) if is_number else self.whole()
        if 200 <= status <= 599:
            return status
        raise self.wrong("an HTTP status from 200 to 599")

    def wrong(self, wanted: str) -> DocumentError:
        return self.error(f"expected {wanted}")

    def error(self, message: str) -> DocumentError:
        return DocumentError.of([Problem(format_location(self.loc), message, self.source)])


def headers_of(place: Place) -> tuple[tuple[str, str], ...]:
    """Headers as name and value, from an object of values or of lists of them, or from a list of
    pairs or of objects with name and value."""
    match place.value:
        case None:
            return ()
        case dict():
            return tuple(_of_object(place))
        case list():
            return tuple(_of_pair(item) for item in place.items())
        case _:
            raise place.wrong("headers: an object or a list")


def by_name(headers: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """The first value of each header by its lower-case name."""
    return {name.lower(): value for name, value in reversed(headers)}


def _of_object(place: Place) -> Iterator[tuple[str, str]]:
    for name, value in place.object().items():
        for one in value if isinstance(value, list) else [value]:
            yield str(name), _text(one, place)


def _of_pair(place: Place) -> tuple[str, str]:
    match place.value:
        case [name, value]:
            return _text(name, place), _text(value, place)
        case {"name": name, "value": value}:
            return _text(name, place), _text(value, place)
        case _:
            raise place.wrong("a header: its name and its value")


def _text(value: Any, place: Place) -> str:
    match value:
        case str():
            return value
        case bytes():
            return value.decode("utf-8", "replace")
        case bool() | int() | float():
            return str(value)
        case _:
            raise place.wrong("texts as headers")
