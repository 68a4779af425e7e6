"""Recorded requests in the form in which they are compared, and the differences between two."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import Final, Literal, TypeAlias

from scenarios_app.engine.canonical import Json, SentRequest, depth_of
from scenarios_app.engine.recorded.rules import RULES, normalize_body
from scenarios_app.engine.redaction import redact_body
from scenarios_app.engine.secrets import is_secret
from scenarios_app.engine.shapes import Loc, format_location

# Deeper JSON is compared as text.
_MAX_DEPTH = 200
DifferenceKind: TypeAlias = Literal["new", "removed", "changed"]
MAX_DIFFERENCES: Final = 20
# Longer lists are compared index by index without alignment.
_MAX_ALIGNED_ITEMS: Final = 400
_TEXT: Final = {"type": "text"}
_ID: Final = re.compile(r"<id \d+>")


@dataclass(frozen=True)
class ComparedRequest:
    """A recorded or received request for comparison. `body` is JSON or text, None if empty. `exact`
    names the rules that are switched off."""

    method: str
    query: Mapping[str, str]
    body: Json
    exact: frozenset[str] = frozenset()

    @property
    def compared_form(self) -> dict[str, Json]:
        """The method and the body after the rules; not cached, to save memory. The query without
        secrets is part of it if there is no body or the rule `query` is switched off."""
        content: dict[str, Json] = {"method": self.method}
        if self.body is None or "query" in self.exact:
            content["query"] = {k: self.query[k] for k in sorted(self.query) if not is_secret(k)}
        content["body"] = normalize_body(self.body, exact=self.exact)
        return content

    @cached_property
    def digest(self) -> str:
        """The digest of the compared form: equal if two requests are the same conversation."""
        return digest_of(self.compared_form)

    @cached_property
    def leaves(self) -> frozenset[tuple[str, str]]:
        """The values in the body after the rules: path without list indexes, and JSON text."""
        return frozenset(_list_leaves(self.compared_form["body"], ""))

    def likeness(self, other: "ComparedRequest") -> float:
        """Return the share of leaves that both requests have, from 0 (nothing in common) to 1. It
        is halved for different methods."""
        every = self.leaves | other.leaves
        shared = len(self.leaves & other.leaves) / len(every) if every else 1.0
        return shared if self.method == other.method else shared / 2


def to_compared_request(sent: SentRequest, exact: frozenset[str] = frozenset()) -> ComparedRequest:
    """Return a received request for comparison, its body redacted as in recordings. `sent` caches
    the result for each `exact`."""
    compared: ComparedRequest | None = sent.compared_by_rules.get(exact)
    if compared is None:
        first = next(iter(sent.compared_by_rules.values()), None)
        body = _decode_redacted(sent.body) if first is None else first.body
        compared = sent.compared_by_rules[exact] = ComparedRequest(
            sent.method, sent.query, body, exact
        )
    return compared


def _decode_redacted(body: bytes) -> Json:
    """Return a body as `decode_body` does, with secrets masked if it is UTF-8."""
    try:
        return decode_body(redact_body(body.decode()))
    except UnicodeDecodeError:
        return decode_body(body)


def rules_needed(one: ComparedRequest, other: ComparedRequest) -> tuple[str, ...]:
    """Return the rules that, each switched off alone, make two equal requests differ. Both requests
    have the same `exact`."""

    def is_needed(rule: str) -> bool:
        """Return True if the requests differ when this rule is switched off too."""
        exact = one.exact | {rule}
        return replace(one, exact=exact).digest != replace(other, exact=exact).digest

    return tuple(rule for rule in RULES if rule not in one.exact and is_needed(rule))


def decode_body(body: bytes | str) -> Json:
    """Return a body as JSON if it is an object or array of at most 200 levels, else as text. Bytes
    that are no UTF-8 become a text with their hash. Returns None for a blank body."""
    if isinstance(body, bytes):
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return f"<{len(body)} bytes {sha256(body).hexdigest()[:16]}>"
    else:
        text = body
    if not text.strip():
        return None
    try:
        value: Json = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict | list) and depth_of(value) <= _MAX_DEPTH else text


def digest_of(value: Json) -> str:
    """Return a digest of JSON, 16 hexadecimal digits, independent of the order of keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:16]


def _list_leaves(value: Json, place: str) -> list[tuple[str, str]]:
    """Return the path and JSON text of each value that is no object or array; items are `[]`."""
    match value:
        case dict():
            return [
                leaf for key, item in value.items() for leaf in _list_leaves(item, f"{place}.{key}")
            ]
        case list():
            return [leaf for item in value for leaf in _list_leaves(item, f"{place}[]")]
        case _:
            return [(place, json.dumps(value))]


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference at a `place` such as `messages[1].content`; absent values are None."""

    kind: DifferenceKind
    place: str
    recorded: Json
    received: Json


def differences(
    recorded: ComparedRequest, received: ComparedRequest, *, limit: int = MAX_DIFFERENCES
) -> tuple[Difference, ...]:
    """Return at most `limit` differences of two requests that have the same `exact`, with values
    after the rules. Different numbers of ids count only if nothing else differs."""
    if recorded.digest == received.digest:
        return ()
    one, other = recorded.compared_form, received.compared_form
    # An inserted call shifts the numbers of all later ids, which counts as one difference.
    difference_list = tuple(
        islice(_find_differences(_without_id_numbers(one), _without_id_numbers(other), ()), limit)
    )
    return difference_list or tuple(islice(_find_differences(one, other, ()), limit))


def _find_differences(one: Json, other: Json, loc: Loc) -> Iterator[Difference]:
    """Yield the differences of a recorded value (`one`) and a received one at a location."""
    match one, other:
        case dict(), dict():
            for key in dict.fromkeys((*one, *other)):
                inner = loc if not loc and key == "body" else (*loc, key)
                if key not in one:
                    yield Difference("new", format_location(inner), None, other[key])
                elif key not in other:
                    yield Difference("removed", format_location(inner), one[key], None)
                else:
                    yield from _find_differences(one[key], other[key], inner)
        case [{"text": str(text), **kind}], [{"text": str(more), **other_kind}] if (
            kind == other_kind == _TEXT
        ):
            # Compared like a text without a part.
            if text != more:
                yield Difference("changed", format_location(loc), text, more)
        case list(), list():
            yield from _diff_lists(one, other, loc)
        case _:
            if digest_of(one) != digest_of(other):
                yield Difference("changed", format_location(loc) or "body", one, other)


def _diff_lists(one: list[Json], other: list[Json], loc: Loc) -> Iterator[Difference]:
    """Yield the differences of two lists: equal items are paired, those between them compared in
    order. A place has the received index, for removed items the recorded one."""
    ones, others = [digest_of(item) for item in one], [digest_of(item) for item in other]
    for tag, start, end, other_start, other_end in _align_lists(ones, others):
        if tag == "equal":
            continue
        both = min(end - start, other_end - other_start)
        for step in range(both):
            at = (*loc, other_start + step)
            yield from _find_differences(one[start + step], other[other_start + step], at)
        for place in range(start + both, end):
            yield Difference("removed", format_location((*loc, place)), one[place], None)
        for place in range(other_start + both, other_end):
            yield Difference("new", format_location((*loc, place)), None, other[place])


def _align_lists(ones: list[str], others: list[str]) -> list[tuple[str, int, int, int, int]]:
    """Return the opcodes of SequenceMatcher for two lists of digests; for long lists a single
    `replace` from the first difference on."""
    if max(len(ones), len(others)) > _MAX_ALIGNED_ITEMS:
        both = min(len(ones), len(others))
        same = next((n for n in range(both) if ones[n] != others[n]), both)
        return [("replace", same, len(ones), same, len(others))]
    return list(SequenceMatcher(None, ones, others, autojunk=False).get_opcodes())


def _without_id_numbers(value: Json) -> Json:
    """Return the value with numbered ids replaced by `<id>`."""
    match value:
        case dict():
            return {key: _without_id_numbers(item) for key, item in value.items()}
        case list():
            return [_without_id_numbers(item) for item in value]
        case str() if _ID.fullmatch(value):
            return "<id>"
        case _:
            return value
