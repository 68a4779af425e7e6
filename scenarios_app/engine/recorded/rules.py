"""The rules by which two requests count as the same although their bytes differ: each has a name,
and can be switched off where a difference matters."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.secrets import MASK, is_secret

# Keys that hold the name of a call, a message, an answer: each client and each run has its own.
_IDS: Final = frozenset(
    {"id", "call_id", "tool_call_id", "tool_use_id", "item_id", "message_id", "response_id"}
    | {"previous_response_id", "approval_request_id", "request_id", "conversation"}
)
# Who asks and how an answer is filed, which is not what it says.
_LABELS: Final = frozenset({"user", "safety_identifier", "metadata"})
_CACHES: Final = frozenset({"cache_control", "prompt_cache_key", "prompt_cache_retention"})
# What a request gets that does not say it; anything empty is as good as left out, too.
_DEFAULTS: Final[Mapping[str, Json]] = {"stream": False, "n": 1}
# Called as a secret is, and none.
_OPEN: Final = frozenset({"signature", "thoughtSignature", "thought_signature", *_CACHES})
_DATE: Final = re.compile(
    r"\b\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
    r"(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?)?(?!\d)"
)
_UUID: Final = re.compile(
    r"(?i)(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])"
)
_BOUNDARY: Final = re.compile(r"\A--([^\r\n]{1,70})\r?\n")
# Names of one thing, a part that is a text.
_TEXT_PARTS: Final = frozenset({"text", "input_text", "output_text"})


RuleName: TypeAlias = Literal[
    "secrets",
    "ids",
    "uuids",
    "dates",
    "labels",
    "caches",
    "defaults",
    "texts",
    "arguments",
    "boundaries",
    "query",
]


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that may differ. `meaning` is a sentence for people."""

    name: RuleName
    meaning: str


RULES: Final[tuple[Rule, ...]] = (
    Rule("secrets", "What stands under the name of a secret (api_key, token) is not compared."),
    Rule(
        "ids",
        "Ids of calls, messages and answers are numbered in the order in which they come, so that "
        "what belongs together still has to.",
    ),
    Rule("uuids", "UUIDs inside texts are not compared."),
    Rule("dates", "Dates and times inside texts (2026-05-01, 2026-05-01T09:30:00Z) are not."),
    Rule("labels", "user, safety_identifier and metadata are not."),
    Rule("caches", "cache_control, prompt_cache_key and prompt_cache_retention are not."),
    Rule("defaults", "Null, an empty list or object, stream false and n 1 are as good as nothing."),
    Rule("texts", "Content that is a text is the same as content of one part with that text."),
    Rule("arguments", "A call's arguments are compared as JSON, not letter by letter."),
    Rule("boundaries", "The boundary between the pieces of a form is not compared."),
    Rule("query", "The query of a request with a body is not compared."),
)
NAMES: Final[frozenset[str]] = frozenset(rule.name for rule in RULES)


def relaxed(value: Json, *, exact: frozenset[str] = frozenset()) -> Json:
    """A body in the form in which it is compared. `exact` names the rules that are switched off."""
    return _Walk(NAMES - exact).value(value)


def relaxed_text(text: str, *, exact: frozenset[str] = frozenset()) -> str:
    """The same of a body that is no JSON."""
    found = _BOUNDARY.match(text) if "boundaries" not in exact else None
    if found:
        text = text.replace(found[1], "<boundary>")
    return _Walk(NAMES - exact).text(text)


class _Walk:
    """One body, with what has been numbered in it so far."""

    def __init__(self, on: frozenset[str]) -> None:
        self._on = on
        self._numbers: dict[str, int] = {}
        self._texts: list[Callable[[str], str]] = []
        if "uuids" in on:
            self._texts.append(lambda text: _UUID.sub("<uuid>", text))
        if "dates" in on:
            self._texts.append(lambda text: _DATE.sub("<date>", text))

    def value(self, value: Json) -> Json:
        match value:
            case dict():
                return self._object(value)
            case list():
                return [self.value(item) for item in value]
            case str():
                return self.text(value)
            case float() if value.is_integer():
                # JSON knows one kind of number.
                return int(value)
            case _:
                return value

    def text(self, text: str) -> str:
        for change in self._texts:
            text = change(text)
        return text

    def _object(self, value: dict[str, Json]) -> dict[str, Json]:
        kept: dict[str, Json] = {}
        # In one order, so that ids get the same numbers however the keys stand.
        for key in sorted(value):
            if not self._is_left_out(key, item := value[key]):
                kept[key] = self._item(key, item)
        return kept

    def _is_left_out(self, key: str, value: Json) -> bool:
        if key in _LABELS and "labels" in self._on:
            return True
        if key in _CACHES and "caches" in self._on:
            return True
        if "defaults" not in self._on:
            return False
        return value is None or value in ([], {}) or (key in _DEFAULTS and value == _DEFAULTS[key])

    def _item(self, key: str, value: Json) -> Json:
        if not isinstance(value, str):
            return self.value(value)
        if key in _IDS and "ids" in self._on:
            number = self._numbers.setdefault(value, len(self._numbers) + 1)
            return f"<id {number}>"
        if "secrets" in self._on and key not in _OPEN and is_secret(key):
            return MASK
        if key == "arguments" and "arguments" in self._on:
            return self._arguments(value)
        if key == "content" and "texts" in self._on:
            return [{"text": self.text(value), "type": "text"}]
        if key == "type" and value in _TEXT_PARTS and "texts" in self._on:
            return "text"
        return self.text(value)

    def _arguments(self, text: str) -> Json:
        try:
            return self.value(json.loads(text))
        except (ValueError, RecursionError):
            return self.text(text)
