"""Keywords that Anthropic's SDKs put into the descriptions of a schema, where models read them."""

import re
from collections.abc import Mapping

from scenarios_app.engine.canonical import Json

_NUMBERS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
)
_TEXTS = ("pattern", "format")
_SAID = re.compile(r"(?:\A|\n)\{(\w+: .*)\}\Z", re.DOTALL)
_DECIMAL = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_KEY = re.compile(r"(?:\A|, )(\w+): ")


def with_words(schema: Json) -> Json:
    """A schema with the keywords that stand at the end of its descriptions, in braces."""
    match schema:
        case list():
            return [with_words(each) for each in schema]
        case dict():
            inner = {key: with_words(value) for key, value in schema.items()}
            description = schema.get("description")
            return {**_words(description), **inner} if isinstance(description, str) else inner
        case _:
            return schema


def _words(description: str) -> Mapping[str, Json]:
    found = _SAID.search(description)
    if found is None:
        return {}
    _, *split = _KEY.split(found[1])
    words: dict[str, Json] = {}
    for key, value in zip(split[::2], split[1::2], strict=True):
        if key in _NUMBERS and (number := _number(value)) is not None:
            words[key] = number
        elif key in _TEXTS:
            words[key] = value
        elif (key, value) == ("uniqueItems", "True"):
            words[key] = True
    return words


def _number(text: str) -> int | float | None:
    if not _DECIMAL.fullmatch(text):
        return None
    return float(text) if "." in text else int(text)
