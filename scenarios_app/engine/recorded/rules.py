"""The rules by which two requests with different bytes count as the same. Each has a name and can
be switched off."""

import json
import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.secrets import MASK, is_secret

# Keys of ids, which differ between clients and runs.
_ID_KEYS: Final = frozenset(
    {"id", "call_id", "tool_call_id", "tool_use_id", "item_id", "message_id", "response_id"}
    | {"previous_response_id", "approval_request_id", "request_id", "conversation"}
)
# Keys about the caller and the storage of the answer.
_LABEL_KEYS: Final = frozenset({"user", "safety_identifier", "metadata", "client_metadata"})
_CACHE_KEYS: Final = frozenset({"cache_control", "prompt_cache_key", "prompt_cache_retention"})
# Default values, which equal a missing key; so does anything empty.
_DEFAULTS: Final[Mapping[str, Json]] = {"stream": False, "n": 1}
# Keys that are named like a secret but hold none.
_NOT_SECRET: Final = frozenset({"signature", "thoughtSignature", "thought_signature", *_CACHE_KEYS})
_DATE: Final = re.compile(
    r"\b\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
    r"(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?)?(?!\d)"
)
_UUID: Final = re.compile(
    r"(?i)(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])"
)
# Only measured times: those that people write are rarely fractions.
_DURATION: Final = re.compile(r"(?<![\d.])\d{1,9}\.\d{1,9}(?= ?(?:s|ms|seconds|milliseconds)\b)")
# What stands for values inside texts, by rule.
_MARKS: Final = (
    ("uuids", _UUID, "<uuid>"),
    ("dates", _DATE, "<date>"),
    ("durations", _DURATION, "<duration>"),
)
_BOUNDARY: Final = re.compile(r"\A--([^\r\n]{1,70})\r?\n")
# The names of text parts.
_TEXT_PARTS: Final = frozenset({"text", "input_text", "output_text"})


RuleName: TypeAlias = Literal[
    "secrets",
    "ids",
    "uuids",
    "dates",
    "durations",
    "labels",
    "caches",
    "defaults",
    "texts",
    "arguments",
    "boundaries",
    "query",
]


# The rules with their meanings for people.
RULES: Final[Mapping[RuleName, str]] = {
    "secrets": "Values under the name of a secret (api_key, token) are not compared.",
    "ids": "Ids of calls, messages and answers are numbered in order of appearance; their "
    "references must still fit.",
    "uuids": "UUIDs inside texts are not compared.",
    "dates": "Dates and times inside texts (2026-05-01, 2026-05-01T09:30:00Z) are ignored.",
    "durations": "Fractions of seconds inside texts (0.31s, 1.2 seconds) are not compared.",
    "labels": "user, safety_identifier, metadata and client_metadata are not compared.",
    "caches": "cache_control, prompt_cache_key and prompt_cache_retention are not compared.",
    "defaults": "Null, an empty list or object, stream false and n 1 count as missing.",
    "texts": "A text as content equals content of one part with that text.",
    "arguments": "A call's arguments are compared as JSON, not letter by letter.",
    "boundaries": "The boundary of multipart forms is not compared.",
    "query": "The query of a request with a body is not compared.",
}
RULE_NAMES: Final[frozenset[str]] = frozenset(RULES)


def normalize_body(body: Json, *, exact: frozenset[str] = frozenset()) -> Json:
    """Return a body, JSON or text, as it is compared: after all rules except those in `exact`."""
    rules = RULE_NAMES - exact
    if isinstance(body, str) and "boundaries" in rules and (match := _BOUNDARY.match(body)):
        body = body.replace(match[1], "<boundary>")
    return _BodyNormalizer(rules).normalize(body)


class _BodyNormalizer:
    """Normalizes one body by the named rules; ids are numbered in order of occurrence."""

    def __init__(self, rules: frozenset[str]) -> None:
        self._rules = rules
        self._numbers: dict[str, int] = {}
        self._marks = [(regex, mark) for rule, regex, mark in _MARKS if rule in rules]

    def normalize(self, value: Json) -> Json:
        """Return a value of the body in the form in which it is compared; whole floats as ints."""
        match value:
            case dict():
                return self._normalize_object(value)
            case list():
                return [self.normalize(item) for item in value]
            case str():
                return self.replace_volatile(value)
            case float() if value.is_integer():
                # JSON has only one kind of number.
                return int(value)
            case _:
                return value

    def replace_volatile(self, text: str) -> str:
        """Return the text with marks such as `<date>` for UUIDs, dates and durations, by rule."""
        for regex, mark in self._marks:
            text = regex.sub(mark, text)
        return text

    def _normalize_object(self, value: dict[str, Json]) -> dict[str, Json]:
        """Return an object as it is compared, without the keys that rules leave out."""
        normalized: dict[str, Json] = {}
        # Sorted, so that ids get the same numbers in any order of keys.
        for key in sorted(value):
            if not self._is_left_out(key, item := value[key]):
                normalized[key] = self._normalize_item(key, item)
        return normalized

    def _is_left_out(self, key: str, value: Json) -> bool:
        """Return True if a rule ignores the key: a label, a cache hint, null, `[]`, `{}` or a
        default."""
        if key in _LABEL_KEYS and "labels" in self._rules:
            return True
        if key in _CACHE_KEYS and "caches" in self._rules:
            return True
        if "defaults" not in self._rules:
            return False
        return value is None or value in ([], {}) or (key in _DEFAULTS and value == _DEFAULTS[key])

    def _normalize_item(self, key: str, value: Json) -> Json:
        """Return the value of a key as it is compared. If it is a text: an id becomes a number, a
        secret is masked, arguments are parsed, and `content` becomes a list of one part."""
        if not isinstance(value, str):
            return self.normalize(value)
        if key in _ID_KEYS and "ids" in self._rules:
            number = self._numbers.setdefault(value, len(self._numbers) + 1)
            return f"<id {number}>"
        if "secrets" in self._rules and key not in _NOT_SECRET and is_secret(key):
            return MASK
        if key == "arguments" and "arguments" in self._rules:
            return self._normalize_arguments(value)
        if key == "content" and "texts" in self._rules:
            return [{"text": self.replace_volatile(value), "type": "text"}]
        if key == "type" and value in _TEXT_PARTS and "texts" in self._rules:
            return "text"
        return self.replace_volatile(value)

    def _normalize_arguments(self, text: str) -> Json:
        """Return a call's arguments as normalized JSON; as normalized text if they are no JSON."""
        try:
            return self.normalize(json.loads(text))
        except (ValueError, RecursionError):
            return self.replace_volatile(text)
