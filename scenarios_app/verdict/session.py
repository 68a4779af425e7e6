"""Input and output types of a verdict: a session with its exchanges and scenarios, client rules
and their findings. Also reads the text of a response body of any provider."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.producing.faults import FAULT_KINDS
from scenarios_app.engine.scenario import Scenario, Step

Outcome: TypeAlias = Literal["complete", "client_gone", "fault", "unmatched"]
Level: TypeAlias = Literal["error", "warning", "note"]
# Scenario name and step key, as in a session's state.
StepKey: TypeAlias = tuple[str, str]

_BAD_REQUEST = 400
_SSE_DATA = "data:"


@dataclass(frozen=True, eq=False)
class JudgedExchange:
    """One journaled request with its response, secrets masked. Header names are in lower case.

    Times are Unix seconds: `at` when the request arrived, `answered_at` when the first byte of
    the response was sent (`ended_at` if none was). `answered` is the beginning of the response's
    text or error message. `siblings` are other connections that were open when it arrived and had
    asked the same path in the same session. `way` is how a step was chosen, "url" for an unknown
    URL or method, or empty if none was looked for. `request` is None if the journaled body cannot
    be parsed: the request was rejected, or its body was cut.
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
    siblings: int = 0
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
    answered: str = ""
    request: CanonicalRequest | None = None
    request_headers: Mapping[str, str] = field(default_factory=dict)
    request_body: str = ""
    request_bytes: int = 0
    response_headers: Mapping[str, str] = field(default_factory=dict)
    response_body: str = ""
    response_bytes: int = 0
    response_cut: bool = False

    @cached_property
    def text(self) -> str:
        """The text of the response's first choice, as `response_text` returns it."""
        return response_text(self.response_body)

    @property
    def unmatched(self) -> bool:
        """True if no step but a catch-all's matched, or if no endpoint has this URL; False for a
        request that was rejected before a step was looked for."""
        return self.fallback or (bool(self.way) and not self.matched)

    @property
    def violated(self) -> bool:
        """True if the request was rejected because it violated an expectation of its step."""
        return bool(self.violations) and self.status == _BAD_REQUEST

    @property
    def served(self) -> bool:
        """True if a step answered, also with a fault."""
        return bool(self.step_key) and not self.violated

    @property
    def failed(self) -> bool:
        """True if the client got an error or an incomplete response."""
        return self.status >= _BAD_REQUEST or self.broken

    @property
    def broken(self) -> bool:
        """True if a fault cut off a response that had begun with a success status."""
        if self.outcome != "fault" or self.status >= _BAD_REQUEST:
            return False
        kind = FAULT_KINDS.get(self.fault)
        effect = kind and (kind.stream if self.streamed else kind.whole)
        # After this one the response goes on to its end.
        return effect != "hold"


@dataclass(frozen=True)
class JudgedSession:
    """A session to be judged. `exchanges` are ordered by arrival. `scenarios` are those visible to
    the session, by name; `own` names those loaded into it alone. `served` are the steps that
    answered, also for requests that left the journal. `violations` are those in the session's
    state."""

    name: str
    exchanges: tuple[JudgedExchange, ...] = ()
    scenarios: Mapping[str, Scenario] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    served: frozenset[StepKey] = frozenset()
    violations: tuple[str, ...] = ()

    @cached_property
    def answered(self) -> frozenset[StepKey]:
        """The steps that answered, by `served` and by `exchanges`."""
        served = (one for one in self.exchanges if one.served)
        return self.served.union((one.scenario, one.step_key) for one in served)

    @cached_property
    def providers(self) -> frozenset[str]:
        """The names of the providers that the session's requests went to, as steps call them."""
        requests = (exchange.request for exchange in self.exchanges)
        also = (name for request in requests if request for name in request.also)
        return frozenset(exchange.provider for exchange in self.exchanges).union(also)

    def step_of(self, exchange: JudgedExchange) -> Step | None:
        """Return the step that answered, or None if it no longer exists."""
        scenario = self.scenarios.get(exchange.scenario)
        steps: Iterable[Step] = scenario.steps if scenario else ()
        return next((step for step in steps if step.key == exchange.step_key), None)


@dataclass(frozen=True, slots=True)
class Sighting:
    """A broken rule: the exchange that breaks it, and earlier ones that prove it."""

    message: str
    exchange: JudgedExchange
    earlier: tuple[JudgedExchange, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """Something that clients must not do.

    `looks_at` describes the evidence, `example` a client that breaks the rule. The level is
    `warning` if the behaviour may be intended; warnings fail only strict verdicts. It is `note` if
    the evidence does not decide who is at fault; notes never fail a verdict.
    """

    name: str
    title: str
    looks_at: str
    example: str
    level: Level
    find_sightings: Callable[[JudgedSession], Iterator[Sighting]]


def is_failing(level: Level, *, strict: bool) -> bool:
    """True if findings of this level fail a verdict."""
    return level == "error" or (strict and level == "warning")


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a client broke, or may have broken if `level` is `note`. `request` is the id of
    the request that breaks it; `requests` are the ids of all that prove it, in order, or of a note
    the first and the last."""

    rule: str
    level: Level
    message: str
    session: str
    request: str
    requests: tuple[str, ...]


def response_text(body: str) -> str:
    """Return the text of a response's first choice, without reasoning and tool calls. Of a stream
    that was cut, returns the text up to there."""
    return "".join(text for value in _json_values(body) for text in _answer_texts(value))


def _json_values(body: str) -> Iterator[Any]:
    """Yield the body's JSON value, or those of its complete SSE events or lines."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        pass
    else:
        # Gemini streams a JSON array unless SSE is requested.
        yield from value if isinstance(value, list) else [value]
        return
    for line in body.splitlines():
        try:
            yield json.loads(line.removeprefix(_SSE_DATA))
        except (ValueError, RecursionError):
            continue


def _answer_texts(value: Any) -> Iterator[str]:
    """Yield the texts of the first choice in a response or in one event of a stream."""
    match value:
        case {"choices": [{"index": int(index)}, *_]} if index:
            return
        case (
            {"choices": [{"delta": {"content": str(text)}}, *_]}
            | {"choices": [{"message": {"content": str(text)}}, *_]}
            | {"choices": [{"text": str(text)}, *_]}
            | {"type": "response.output_text.delta", "delta": str(text)}
            | {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}
        ):
            yield text
        case {"object": "response", "output": list(items)}:
            yield from (text for item in items for text in _message_texts(item))
        case {"type": "message", "content": list()}:
            yield from _message_texts(value)
        case {"candidates": [{"content": {"parts": list(parts)}}, *_]}:
            yield from (_part_text(part) for part in parts)
        case {"message": {"content": str(text)}} | {"response": str(text)}:
            yield text


def _message_texts(message: Any) -> Iterator[str]:
    """Yield the texts of a message without thoughts; none of an item of another type."""
    match message:
        case {"type": "message", "content": list(parts)}:
            yield from (_part_text(part) for part in parts)


def _part_text(part: Any) -> str:
    """Return the text of a message's part; empty if it has none or is a thought."""
    match part:
        case {"text": str(text)} if part.get("thought") is not True:
            return text
    return ""
