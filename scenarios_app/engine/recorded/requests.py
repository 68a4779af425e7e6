"""Recorded requests as they are compared: each in a form of its method, its query where that asks
for something, and its body, as the rules leave them; and what differs between two, told as people
would, with its place and both values."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import Final, Literal, TypeAlias

from scenarios_app.engine.canonical import Json, SentRequest
from scenarios_app.engine.recorded.rules import RULES, relaxed, relaxed_text
from scenarios_app.engine.redaction import redact_body
from scenarios_app.engine.secrets import is_secret
from scenarios_app.engine.shapes import Loc, format_location

Exact: TypeAlias = frozenset[str]
EVERY_RULE: Exact = frozenset()
# Deeper JSON is compared as text.
_MAX_DEPTH = 200
Kind: TypeAlias = Literal["new", "removed", "changed"]
MOST: Final = 20
# Longer lists are compared place by place where they are not the same.
_ALIGNED: Final = 400
_TEXT: Final = {"type": "text"}
_ID: Final = re.compile(r"<id \d+>")


@dataclass(frozen=True)
class ComparedRequest:
    """What is compared of a request: `query` without secrets, `body` as JSON, or as text where it
    is none; an empty one is None. `exact` names the rules that were switched off."""

    method: str
    query: Mapping[str, str]
    body: Json
    exact: Exact = EVERY_RULE

    @property
    def form(self) -> dict[str, Json]:
        """The whole of it as the rules leave it, made each time: a recording would hold it for ever
        beside the body."""
        body = self.body
        relax = relaxed_text(body, exact=self.exact) if isinstance(body, str) else None
        kept: dict[str, Json] = {"method": self.method}
        if body is None or "query" in self.exact:
            kept["query"] = {k: self.query[k] for k in sorted(self.query) if not is_secret(k)}
        kept["body"] = relaxed(body, exact=self.exact) if relax is None else relax
        return kept

    @cached_property
    def digest(self) -> str:
        """The same for requests that are the same conversation, and for no others."""
        return digest_of(self.form)

    @cached_property
    def leaves(self) -> frozenset[tuple[str, str]]:
        """What stands where, as far as that tells how alike two requests are: each value with its
        keys, wherever in a list it stands."""
        return frozenset(_leaves(self.form["body"], ""))

    def likeness(self, other: "ComparedRequest") -> float:
        """How alike two requests are, from 0 (nothing in common) to 1."""
        every = self.leaves | other.leaves
        shared = len(self.leaves & other.leaves) / len(every) if every else 1.0
        return shared if self.method == other.method else shared / 2


def asked(sent: SentRequest, exact: Exact = EVERY_RULE) -> ComparedRequest:
    """A request that came, to be compared by all rules but these, without the secrets that recorded
    ones are without too. It is read once for each set of rules."""
    found: ComparedRequest | None = sent.known.get(exact)
    if found is None:
        first = next(iter(sent.known.values()), None)
        body = _kept(sent.body) if first is None else first.body
        found = sent.known[exact] = ComparedRequest(sent.method, sent.query, body, exact)
    return found


def _kept(body: bytes) -> Json:
    try:
        return decoded(redact_body(body.decode()))
    except UnicodeDecodeError:
        return decoded(body)


def rules_between(one: ComparedRequest, other: ComparedRequest) -> tuple[str, ...]:
    """The rules without which two requests would not be the same."""
    return tuple(
        rule.name
        for rule in RULES
        for exact in (one.exact | {rule.name},)
        if rule.name not in one.exact
        and replace(one, exact=exact).digest != replace(other, exact=exact).digest
    )


def compared(
    method: str, query: Mapping[str, str], body: bytes | str, *, exact: Exact = EVERY_RULE
) -> ComparedRequest:
    """A request as it was sent, to be compared."""
    return ComparedRequest(method, query, decoded(body), exact)


def decoded(body: bytes | str) -> Json:
    """A body as JSON where it is an object or a list, else as text; bytes that are no text have a
    name by their hash. None where there is nothing."""
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
    """A short name for JSON, in which the order of keys plays no part."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:16]


def depth_of(value: Json) -> int:
    """How many lists and objects stand around what is deepest in a value, at most a few hundred."""
    depth, level = 0, [value]
    while level and depth <= _MAX_DEPTH:
        depth += 1
        level = [
            item
            for one in level
            if isinstance(one, dict | list)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
    return depth


def _leaves(value: Json, place: str) -> list[tuple[str, str]]:
    match value:
        case dict():
            return [leaf for key, item in value.items() for leaf in _leaves(item, f"{place}.{key}")]
        case list():
            return [leaf for item in value for leaf in _leaves(item, f"{place}[]")]
        case _:
            return [(place, json.dumps(value))]


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. `place` reads `messages[1].content`; `recorded` and `asked` are the two
    values, None where there is none."""

    kind: Kind
    place: str
    recorded: Json
    asked: Json


def differences(
    recorded: ComparedRequest, asked: ComparedRequest, *, most: int = MOST
) -> tuple[Difference, ...]:
    """What `asked` has that `recorded` has not, and the other way round, at most so many; nothing
    where they are the same conversation. Both are compared by the same rules."""
    if recorded.digest == asked.digest:
        return ()
    one, other = recorded.form, asked.form
    # A call that was put in moves the numbers of all ids after it, which is one difference.
    found = tuple(islice(_of(_unnumbered(one), _unnumbered(other), ()), most))
    return found or tuple(islice(_of(one, other, ()), most))


def _of(one: Json, other: Json, loc: Loc) -> Iterator[Difference]:
    match one, other:
        case dict(), dict():
            for key in dict.fromkeys((*one, *other)):
                inner = loc if not loc and key == "body" else (*loc, key)
                if key not in one:
                    yield Difference("new", format_location(inner), None, other[key])
                elif key not in other:
                    yield Difference("removed", format_location(inner), one[key], None)
                else:
                    yield from _of(one[key], other[key], inner)
        case [{"text": str(text), **kind}], [{"text": str(more), **other_kind}] if (
            kind == other_kind == _TEXT
        ):
            # As a text is compared that stands alone.
            if text != more:
                yield Difference("changed", format_location(loc), text, more)
        case list(), list():
            yield from _of_lists(one, other, loc)
        case _:
            if digest_of(one) != digest_of(other):
                yield Difference("changed", format_location(loc) or "body", one, other)


def _of_lists(one: list[Json], other: list[Json], loc: Loc) -> Iterator[Difference]:
    """Items are paired where they are the same; between those, one by one."""
    ones, others = [digest_of(item) for item in one], [digest_of(item) for item in other]
    for tag, start, end, other_start, other_end in _aligned(ones, others):
        if tag == "equal":
            continue
        both = min(end - start, other_end - other_start)
        for step in range(both):
            at = (*loc, other_start + step)
            yield from _of(one[start + step], other[other_start + step], at)
        for place in range(start + both, end):
            yield Difference("removed", format_location((*loc, place)), one[place], None)
        for place in range(other_start + both, other_end):
            yield Difference("new", format_location((*loc, place)), None, other[place])


def _aligned(ones: list[str], others: list[str]) -> list[tuple[str, int, int, int, int]]:
    if max(len(ones), len(others)) > _ALIGNED:
        both = min(len(ones), len(others))
        same = next((n for n in range(both) if ones[n] != others[n]), both)
        return [("replace", same, len(ones), same, len(others))]
    return list(SequenceMatcher(None, ones, others, autojunk=False).get_opcodes())


def _unnumbered(value: Json) -> Json:
    match value:
        case dict():
            return {key: _unnumbered(item) for key, item in value.items()}
        case list():
            return [_unnumbered(item) for item in value]
        case str() if _ID.fullmatch(value):
            return "<id>"
        case _:
            return value
