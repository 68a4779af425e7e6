"""Other numbers, words and JSON values in place of those of an answer, for its alterations."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.schemas.fit import SchemaValidator, StepBudget
from scenarios_app.engine.schemas.keywords import References, SchemaError

OTHER_TEXT = "altered"
# Times a number, so that amounts and units are wrong by an order of magnitude.
FACTOR = 100

# With commas between thousands; no part of a version or a word.
_NUMBER = re.compile(r"(?<![\w.])(?<!\d,)\d+(?:,\d{3})*(?:\.\d+)?(?![\w.]*\d)")
# Words with a capital that does not begin a sentence.
_NAME = re.compile(r"(?<=[^.!?\s] )[A-Z][a-z]{2,}\b")
_WORD = re.compile(r"\b[^\W\d_]{5,}\b")


def other_numbers(text: str) -> Iterator[str]:
    """Yield the text with one number changed, for each number."""
    for match in _NUMBER.finditer(text):
        yield f"{text[: match.start()]}{_enlarge_digits(match[0])}{text[match.end() :]}"


def other_names(text: str) -> Iterator[str]:
    """Yield the text with one name changed, for each name."""
    for match in _NAME.finditer(text):
        yield f"{text[: match.start()]}{_reverse_name(match[0])}{text[match.end() :]}"


def contradictions(text: str, result: str) -> Iterator[str]:
    """Yield the text with one number or name that it shares with the result changed everywhere; if
    it shares none, with "not" before the first shared word."""
    numbers = {number: _enlarge_digits(number) for number in _shared_matches(_NUMBER, text, result)}
    names = {
        word: _reverse_name(word)
        for word in _shared_matches(_WORD, text, result)
        if word[0].isupper()
    }
    changes = numbers | names
    if not changes:
        changes = {word: f"not {word}" for word in _shared_matches(_WORD, text, result)[:1]}
    for word, other in changes.items():
        standing_alone = rf"(?<![\w.]){re.escape(word)}(?!\w|\.\d)"
        yield other.join(re.split(standing_alone, text))


def _shared_matches(pattern: re.Pattern[str], text: str, result: str) -> list[str]:
    """Return the distinct matches of a pattern in `text` that `result` has too."""
    there = set(pattern.findall(result))
    return [word for word in dict.fromkeys(pattern.findall(text)) if word in there]


def other_objects(value: Mapping[str, Json], schema: Json = None) -> Iterator[Json]:
    """Yield the object with one scalar changed, for each scalar that has a value valid by the
    schema; without a usable schema every value is valid."""
    is_valid = _validator(schema)
    allowed = list(_listed_values(schema))
    for options in _changed_once(dict(value), allowed):
        if (first := next(filter(is_valid, options), None)) is not None:
            yield first


def _validator(schema: Json) -> Callable[[Json], bool]:
    """Return the test of values by a schema; without a usable schema it returns True."""
    if not isinstance(schema, dict):
        return lambda _: True
    references = References(schema)

    def is_valid(value: Json) -> bool:
        try:
            return SchemaValidator(references, StepBudget()).is_valid(value, schema)
        except SchemaError:
            return True

    return is_valid


def _listed_values(schema: Json) -> Iterator[Json]:
    """Yield the values that any `enum` of a schema lists."""
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
    """Yield, for each scalar inside the value, the values in which only it is changed."""
    match value:
        case list():
            for index, member in enumerate(value):
                for options in _changed_once(member, allowed):
                    yield ([*value[:index], one, *value[index + 1 :]] for one in options)
        case dict():
            for key, member in value.items():
                for options in _changed_once(member, allowed):
                    yield ({**value, key: one} for one in options)
        case None:
            return
        case _:
            listed = [one for one in allowed if type(one) is type(value) and one != value]
            yield iter([other_value(value), *listed])


def other_value(value: bool | int | float | str) -> Json:
    """Return a different value of the same type: the opposite, a larger number, or a changed
    text."""
    match value:
        case bool():
            return not value
        case int() | float():
            return _enlarge(value)
        case _:
            return next(other_numbers(value), _reverse_name(value) if value else OTHER_TEXT)


def _enlarge_digits(digits: str) -> str:
    plain = digits.replace(",", "")
    return str(_enlarge(float(plain) if "." in plain else int(plain)))


def _enlarge(number: float) -> float:
    """Return the number times 100, or 1 for 0."""
    changed = number * FACTOR or 1
    return int(changed) if changed == int(changed) else changed


def _reverse_name(name: str) -> str:
    """Return a name spelled backwards; a palindrome gets an "s"."""
    return name[::-1].capitalize() if name[::-1].lower() != name.lower() else f"{name}s"


def read_object(text: str) -> dict[str, Json] | None:
    """Return the JSON object of a text, or None."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
