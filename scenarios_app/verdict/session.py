"""Input and output types of a verdict: a session with its exchanges and scenarios, client rules
and their findings. Also reads the text of a response body of any provider."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from msgspec.structs import force_setattr

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.journal_entry import JournalEntry
from scenarios_app.engine.producing.faults import FAULT_KINDS
from scenarios_app.engine.scenario import Scenario, Step

Level: TypeAlias = Literal["error", "warning", "note"]
# Scenario name and step key, as in a session's state.
StepKey: TypeAlias = tuple[str, str]

_BAD_REQUEST = 400
_SSE_DATA = "data:"


class JudgedExchange(JournalEntry[str], frozen=True, eq=False, kw_only=True):
    """A clean journal entry with its parsed request, which is None if the journaled body cannot be
    parsed: the request was rejected, or its body was cut. Header names are in lower case."""

    request_bytes: int = 0
    response_headers: Mapping[str, str] = {}
    response_bytes: int = 0
    request: CanonicalRequest | None = None
    _text: str | None = None

    @property
    def text(self) -> str:
        """The text of the response's first choice, as `response_text` returns it."""
        if (text := self._text) is None:
            text = response_text(self.response_body)
            force_setattr(self, "_text", text)
        return text

    @property
    def ended_at(self) -> float:
        """The Unix time of the answer's end."""
        return self.at + self.duration_ms / 1000

    @property
    def answered_at(self) -> float:
        """The Unix time at which the first byte was sent; `ended_at` if none was."""
        head_ms = self.timings.get("head_ms")
        return self.ended_at if head_ms is None else self.at + head_ms / 1000

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
