"""What is judged and what is found: a session, its requests with their answers, what these said by
their bytes, whichever provider's they are, and what its scenarios hold; the rules on it, and where
they are broken."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.producing.faults import Strike, fault_kinds
from scenarios_app.engine.scenario import Scenario, Step

Outcome: TypeAlias = Literal["complete", "client_gone", "fault", "unmatched"]
# Scenario and key of a step, as a session's state has it.
StepKey: TypeAlias = tuple[str, str]

_REFUSED = 400
# Faults after which an answer goes on to its end.
_WHOLE: frozenset[Strike] = frozenset({"hold"})
Level: TypeAlias = Literal["error", "warning"]
_DATA = "data:"


@dataclass(frozen=True, eq=False)
class Exchange:
    """One request and its answer, secrets masked. Headers have lower-case names.

    `at` is when the request came and `answered_at` when the first byte of its answer left (where
    none did, when it ended), both in Unix seconds. `request` is None where what was kept of it
    cannot be read as one: it was refused, or its body was cut. `violated` says that it was refused
    for what its step expected.
    """

    id: str
    at: float
    answered_at: float
    ended_at: float
    method: str
    path: str
    status: int
    outcome: Outcome
    provider: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    streamed: bool = False
    scenario: str = ""
    step: str = ""
    step_key: str = ""
    way: str = ""
    matched: bool = True
    fallback: bool = False
    fault: str = ""
    violations: tuple[str, ...] = ()
    near_misses: Sequence[Json] = ()
    request: CanonicalRequest | None = None
    request_headers: Mapping[str, str] = field(default_factory=dict)
    request_body: str = ""
    request_bytes: int = 0
    response_headers: Mapping[str, str] = field(default_factory=dict)
    response_body: str = ""
    response_bytes: int = 0
    response_cut: bool = False

    @property
    def unmatched(self) -> bool:
        """Whether a step was sought and none was found, also where a catch-all answered."""
        return self.fallback or (bool(self.way) and not self.matched)

    @property
    def violated(self) -> bool:
        return bool(self.violations) and self.status == _REFUSED

    @property
    def served(self) -> bool:
        """Whether a step answered, be it with a fault."""
        return bool(self.step_key) and not self.violated

    @property
    def failed(self) -> bool:
        """Whether the client got no answer that it could use."""
        return self.status >= _REFUSED or self.broken

    @property
    def broken(self) -> bool:
        """Whether the answer began well and broke off."""
        if self.outcome != "fault" or self.status >= _REFUSED:
            return False
        kind = fault_kinds().get(self.fault)
        return kind is None or (kind.stream if self.streamed else kind.whole) not in _WHOLE


@dataclass(frozen=True)
class Session:
    """What is judged together. `exchanges` are in the order in which requests came, `scenarios`
    those that the session sees, by name, and `own` the names of those that are its alone. `served`
    are the steps that answered, also those of which the journal has lost the request; `violations`
    what the session's state remembers."""

    name: str
    exchanges: tuple[Exchange, ...] = ()
    scenarios: Mapping[str, Scenario] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    served: frozenset[StepKey] = frozenset()
    violations: tuple[str, ...] = ()

    @cached_property
    def answered(self) -> frozenset[StepKey]:
        """Every step that answered."""
        seen = ((one.scenario, one.step_key) for one in self.exchanges if one.served)
        return self.served.union(seen)

    def step_of(self, exchange: Exchange) -> Step | None:
        """The step that answered, if it is still there."""
        scenario = self.scenarios.get(exchange.scenario)
        steps: Iterable[Step] = scenario.steps if scenario else ()
        return next((step for step in steps if step.key == exchange.step_key), None)


@dataclass(frozen=True, slots=True)
class Sighting:
    """Where a rule was broken: the request at which it shows, and those before it that prove it."""

    message: str
    exchange: Exchange
    before: tuple[Exchange, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """Something that clients must not do. `looks_at` is what the server sees of it, `example` one
    client that breaks it. What may be meant is a `warning`, which fails strict verdicts alone."""

    name: str
    title: str
    looks_at: str
    example: str
    level: Level
    sightings: Callable[[Session], Iterator[Sighting]]


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a client broke. `request` is the id of the request at which it shows, `requests`
    are all that prove it, in order."""

    rule: str
    level: Level
    message: str
    session: str
    request: str
    requests: tuple[str, ...]


def said(body: str) -> str:
    """The text of an answer's first choice, whole or as far as it was streamed. Thinking and tool
    calls are no text."""
    return "".join(piece for event in _events(body) for piece in _pieces(event))


def _events(body: str) -> Iterator[Any]:
    """The JSON values of a body: itself, or those of its events or lines that are whole."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        pass
    else:
        # A list is what Gemini streams where no events were asked for.
        yield from value if isinstance(value, list) else [value]
        return
    for line in body.splitlines():
        try:
            yield json.loads(line.removeprefix(_DATA))
        except (ValueError, RecursionError):
            continue


def _pieces(event: Any) -> Iterator[str]:
    match event:
        case {"choices": [{"index": int(index)}, *_]} if index:
            return
        case {"choices": [{"delta": {"content": str(text)}}, *_]}:
            yield text
        case {"choices": [{"message": {"content": str(text)}}, *_]}:
            yield text
        case {"choices": [{"text": str(text)}, *_]}:
            yield text
        case {"type": "response.output_text.delta", "delta": str(text)}:
            yield text
        case {"object": "response", "output": list(items)}:
            yield from (text for item in items for text in _texts(item))
        case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
            yield text
        case {"type": "message", "content": list()}:
            yield from _texts(event)
        case {"candidates": [{"content": {"parts": list(parts)}}, *_]}:
            yield from (_text_of(part) for part in parts)
        case {"message": {"content": str(text)}} | {"response": str(text)}:
            yield text


def _texts(message: Any) -> Iterator[str]:
    match message:
        case {"type": "message", "content": list(parts)}:
            yield from (_text_of(part) for part in parts)


def _text_of(part: Any) -> str:
    match part:
        case {"thought": True}:
            return ""
        case {"text": str(text)}:
            return text
        case _:
            return ""
