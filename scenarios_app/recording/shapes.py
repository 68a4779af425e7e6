"""What two answers of one endpoint have in common beside what they say: which fields there are, and
of which type each is."""

import json
from collections.abc import Iterator, Mapping, Set
from typing import Final, TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.recorded.differences import Difference

# The types that stand at a place, by its path.
Shape: TypeAlias = Mapping[str, Set[str]]
_STREAM: Final = "text/event-stream"
_DONE: Final = "[DONE]"
_NULL: Final = "null"
_TYPES: Final = {str: "string", bool: "boolean", int: "number", float: "number"}


def shape_of(status: int, media_type: str, body: bytes) -> Shape:
    """The shape of an answer. Of a stream each kind of event has its own; what is no JSON has one
    of which no more is known."""
    kind = media_type.partition(";")[0].strip().lower()
    found: dict[str, set[str]] = {"status": {str(status)}, "content-type": {kind}}
    text = body.decode(errors="replace")
    for name, value in _events(text) if kind == _STREAM else _lines(text):
        for place, type_name in _places(value, name):
            found.setdefault(place, set()).add(type_name)
    return found


def shape_differences(recorded: Shape, today: Shape) -> tuple[Difference, ...]:
    """What is new, gone or of another type. Null says nothing of the type of a field."""
    found: list[Difference] = []
    for place in sorted({*recorded, *today}):
        before, now = sorted(recorded.get(place, ())), sorted(today.get(place, ()))
        if not before:
            found.append(Difference("new", place, None, " or ".join(now)))
        elif not now:
            found.append(Difference("removed", place, " or ".join(before), None))
        elif _other(before, now):
            found.append(Difference("changed", place, " or ".join(before), " or ".join(now)))
    return tuple(found)


def _other(before: list[str], now: list[str]) -> bool:
    known, new = set(before) - {_NULL}, set(now) - {_NULL}
    return bool(known and new and known.isdisjoint(new))


def _lines(text: str) -> Iterator[tuple[str, Json]]:
    """A body of JSON, or of a line of JSON each."""
    try:
        yield "body", json.loads(text)
        return
    except (ValueError, RecursionError):
        pass
    for line in text.splitlines():
        if line.strip():
            yield "line", _read(line)


def _events(text: str) -> Iterator[tuple[str, Json]]:
    """The data of server-sent events, each under its name or its type."""
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = [line.partition(":") for line in block.split("\n")]
        name = next((value.strip() for key, _, value in fields if key == "event"), "")
        data = "\n".join(value.removeprefix(" ") for key, _, value in fields if key == "data")
        if not data or data == _DONE:
            continue
        value = _read(data)
        kind = value.get("type") if isinstance(value, dict) else None
        yield f"event {name or (kind if isinstance(kind, str) else 'data')}", value


def _read(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _places(value: Json, place: str) -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            yield place, "object"
            for key, item in value.items():
                yield from _places(item, f"{place}.{key}")
        case list():
            yield place, "list"
            for item in value:
                yield from _places(item, f"{place}[]")
        case None:
            yield place, _NULL
        case _:
            yield place, _TYPES[type(value)]
