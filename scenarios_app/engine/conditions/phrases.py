"""Phrases for the sentence that describes a step, built from JSON that was not validated."""

from scenarios_app.engine.canonical import Json

_MAX_PHRASE_CHARS = 40
_MAX_LISTED_NAMES = 3
_VERBS = {"equals": "is", "contains": "contains", "startswith": "starts with", "regex": "matches"}


def phrase_text_condition(condition: Json, *, quoted: bool = True) -> str:
    """Return the phrase for a text condition, empty if it tests nothing; `equals` gives the bare
    text unless `quoted`."""
    if isinstance(condition, str):
        condition = {"equals": condition}
    phrases = []
    for mode, verb in _VERBS.items():
        text = get_member(condition, mode)
        if isinstance(text, str) and text:
            line = shorten_line(text)
            phrases.append(line if mode == "equals" and not quoted else f"{verb} “{line}”")
    return " and ".join(phrases)


def phrase_alternatives(value: Json) -> str:
    """Return the phrase for one text condition or a list of alternatives."""
    items = value if isinstance(value, list) else [value]
    phrases = (phrase_text_condition(item, quoted=False) for item in items)
    return " or ".join(phrase for phrase in phrases if phrase)


def list_first_names(items: list[Json]) -> str:
    """Return the first three texts of a list, shortened, and the number of the other texts."""
    texts = [shorten_line(item) for item in items if isinstance(item, str)]
    left = len(texts) - _MAX_LISTED_NAMES
    return ", ".join(texts[:_MAX_LISTED_NAMES]) + (f" and {left} more" if left > 0 else "")


def shorten_line(text: str) -> str:
    """Return a text on one line of at most 40 characters, ending in … if it was cut."""
    line = " ".join(text.split())
    if len(line) <= _MAX_PHRASE_CHARS:
        return line
    return line[: _MAX_PHRASE_CHARS - 1].rstrip() + "…"


def get_member(value: Json, key: str) -> Json:
    """Return the value at a key, or None if `value` is no object or has no such key."""
    return value.get(key) if isinstance(value, dict) else None


def get_short_text(value: Json, key: str) -> str:
    """Return the text at a key, shortened to one line, or an empty text."""
    text = get_member(value, key)
    return shorten_line(text) if isinstance(text, str) else ""


def as_list(value: Json) -> list[Json]:
    """Return `value` if it is a list, else an empty list."""
    return value if isinstance(value, list) else []
