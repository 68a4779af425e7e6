"""Other numbers, words and JSON values in place of those of an answer, for its alterations."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from scenarios_app.engine.canonical import Json, depth_of
from scenarios_app.engine.schemas.fit import SchemaValidator, StepBudget
from scenarios_app.engine.schemas.keywords import References, SchemaError

OTHER_TEXT = "altered"
# Times a number, so that amounts and units are wrong by an order of magnitude.
FACTOR = 100
# Longer numbers become 1: a float cannot hold them, and Python refuses to write long integers.
_MAX_DIGITS = 300
# Deeper JSON is text: functions that call themselves could not walk through it.
_MAX_DEPTH = 200

# With commas between thousands; no part of a version or a word.
_NUMBER = re.compile(r"(?<![\w.])(?<!\d,)\d+(?:,\d{3})*(?:\.\d+)?(?![\w.]*\d)")
# Words with a capital that does not begin a sentence.
_NAME = re.compile(r"(?<=[^.!?\s] )[A-Z][a-z]{2,}\b")
_WORD = re.compile(r"\b[^\W\d_]{5,}\b")


def other_numbers(text: str) -> Iterator[str]:
    """Yield the text with one number multiplied by 100 (0 becomes 1), for each number."""
    for match in _NUMBER.finditer(text):
        yield f"{text[: match.start()]}{_enlarge_digits(match[0])}{text[match.end() :]}"


def other_names(text: str) -> Iterator[str]:
    """Yield the text with one name spelled backwards, for each name: a word of three letters or
    more with a capital that does not begin a sentence."""
    for match in _NAME.finditer(text):
        yield f"{text[: match.start()]}{_reverse_name(match[0])}{text[match.end() :]}"


def contradictions(text: str, result: str) -> Iterator[str]:
    """Yield the text with one number or name changed everywhere, for each that the result has too;
    if there is none, once with "not" before the first word of five letters that both have."""
    changes = {number: _enlarge_digits(number) for number in _shared_matches(_NUMBER, text, result)}
    words = _shared_matches(_WORD, text, result)
    changes |= {word: _reverse_name(word) for word in words if word[0].isupper()}
    if not changes:
        changes = {word: f"not {word}" for word in words[:1]}
    for word, other in changes.items():
        standing_alone = rf"(?<![\w.]){re.escape(word)}(?!\w|\.\d)"
        yield other.join(re.split(standing_alone, text))


def _shared_matches(pattern: re.Pattern[str], text: str, result: str) -> list[str]:
    """Return the distinct matches of a pattern in `text` that `result` has too."""
    there = set(pattern.findall(result))
    return [word for word in dict.fromkeys(pattern.findall(text)) if word in there]


def other_objects(value: Mapping[str, Json], schema: Json = None) -> Iterator[Json]:
    """Yield the object with one scalar changed, for each scalar inside it that can change so that
    the object is valid by the schema."""
    allowed = list(_listed_values(schema))
    for options in _changed_once(dict(value), allowed):
        yield from islice((option for option in options if _is_valid(option, schema)), 1)


def _is_valid(value: Json, schema: Json) -> bool:
    """Return True if a value is valid by a schema, or if the schema cannot be used."""
    if not isinstance(schema, dict):
        return True
    try:
        return SchemaValidator(References(schema), StepBudget()).is_valid(value, schema)
    except SchemaError:
        return True


def _listed_values(schema: Json) -> Iterator[Json]:
    """Yield the values that the `enum` keywords anywhere in a schema list."""
    match schema:
        case dict():
            for key, member in schema.items():
                if key == "enum" and isinstance(member, list):
                    yield from member
                yield from _listed_values(member)
        case list():
            for member in schema:
                yield from _listed_values(member)


def _changed_once(value: Json, allowed: Sequence[Json]) -> Iterator[Iterator[Json]]:
    """Yield, for each scalar but null inside the value, the values in which only it differs: by
    `_other_value`, then by each allowed value of its type."""
    match value:
        case list():
            for index, member in enumerate(value):
                for options in _changed_once(member, allowed):
                    yield ([*value[:index], option, *value[index + 1 :]] for option in options)
        case dict():
            for key, member in value.items():
                for options in _changed_once(member, allowed):
                    yield ({**value, key: option} for option in options)
        case None:
            return
        case _:
            listed = [other for other in allowed if type(other) is type(value) and other != value]
            yield iter([_other_value(value), *listed])


def _other_value(value: bool | int | float | str) -> Json:
    """Return the opposite, the number times 100, or the text with its first number changed, else
    spelled backwards; OTHER_TEXT if it is empty."""
    match value:
        case bool():
            return not value
        case int() | float():
            return _enlarge(value)
        case _:
            return next(other_numbers(value), _reverse_name(value) if value else OTHER_TEXT)


def _enlarge_digits(digits: str) -> str:
    """Return a number in decimal digits times 100, without commas; see `_enlarge`."""
    plain = digits.replace(",", "")
    is_float = "." in plain or len(plain) > _MAX_DIGITS
    return str(_enlarge(float(plain) if is_float else int(plain)))


def _enlarge(number: float) -> float:
    """Return the number times 100, as an integer if it is whole; 1 for 0 and from 1e300 on."""
    changed = (number * FACTOR if abs(number) < 10.0**_MAX_DIGITS else 0) or 1
    return int(changed) if changed == int(changed) else changed


def _reverse_name(name: str) -> str:
    """Return a name spelled backwards with a capital; a palindrome gets an "s" instead."""
    return name[::-1].capitalize() if name[::-1].lower() != name.lower() else f"{name}s"


def read_object(text: str) -> dict[str, Json] | None:
    """Return the JSON object of a text; None if it is no object, or too deeply nested."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and depth_of(value) <= _MAX_DEPTH else None
