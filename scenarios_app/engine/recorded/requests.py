"""A request in the form in which recorded ones are compared: its method, its query where that asks
for something, and its body, as the rules leave them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TypeAlias

from scenarios_app.engine.canonical import Json, SentRequest
from scenarios_app.engine.recorded.rules import RULES, relaxed, relaxed_text
from scenarios_app.engine.redaction import redact_body
from scenarios_app.engine.secrets import is_secret

Exact: TypeAlias = frozenset[str]
EVERY_RULE: Exact = frozenset()
# Deeper JSON is compared as text.
_DEEPEST = 200


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
    return value if isinstance(value, dict | list) and depth_of(value) <= _DEEPEST else text


def digest_of(value: Json) -> str:
    """A short name for JSON, in which the order of keys plays no part."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:16]


def depth_of(value: Json) -> int:
    """How many lists and objects stand around what is deepest in a value, at most a few hundred."""
    depth, level = 0, [value]
    while level and depth <= _DEEPEST:
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
