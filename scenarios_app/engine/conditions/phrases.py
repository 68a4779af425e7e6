"""Pieces of a sentence about a step, out of plain JSON that nobody has checked: what is not what it
should be says nothing."""

from scenarios_app.engine.canonical import Json

_QUOTED = 40
_LISTED = 3
_TESTS = {"equals": "is", "contains": "contains", "startswith": "starts with", "regex": "matches"}


def tests(condition: Json, *, quoted: bool = True) -> str:
    """A text condition; one that is an exact text is just that text, unless it is `quoted`."""
    if isinstance(condition, str):
        condition = {"equals": condition}
    said = []
    for mode, verb in _TESTS.items():
        text = member(condition, mode)
        if isinstance(text, str) and text:
            shown = short(text)
            said.append(shown if mode == "equals" and not quoted else f"{verb} “{shown}”")
    return " and ".join(said)


def alternatives(value: Json) -> str:
    """Text conditions of which one must hold."""
    items = value if isinstance(value, list) else [value]
    return " or ".join(said for item in items if (said := tests(item, quoted=False)))


def first_names(items: list[Json]) -> str:
    """The first names of a list."""
    texts = [short(item) for item in items if isinstance(item, str)]
    left = len(texts) - _LISTED
    return ", ".join(texts[:_LISTED]) + (f" and {left} more" if left > 0 else "")


def short(text: str) -> str:
    """A text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _QUOTED else line[: _QUOTED - 1].rstrip() + "…"


def member(value: Json, key: str) -> Json:
    """What an object has at a key."""
    return value.get(key) if isinstance(value, dict) else None


def text_at(value: Json, key: str) -> str:
    """The text that an object has at a key, short."""
    text = member(value, key)
    return short(text) if isinstance(text, str) else ""


def listed(value: Json) -> list[Json]:
    """The items of a list."""
    return value if isinstance(value, list) else []
