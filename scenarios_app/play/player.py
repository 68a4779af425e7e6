"""Plays a conversation: each turn goes through the pipeline in a session of its own, and what comes
stands beside what should. Nothing that is stored or served is touched."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from scenarios_app.engine.canonical import CanonicalResponse, Json, Message
from scenarios_app.engine.conditions.text_shapes import TextConditionDocument
from scenarios_app.engine.conditions.texts import shorten
from scenarios_app.engine.matching.index import Index
from scenarios_app.engine.matching.near_misses import NearMiss
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.parts import (
    MessagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from scenarios_app.engine.producing.faults import kind_of, strike_of
from scenarios_app.play.conversation import (
    AskedDocument,
    ConversationDocument,
    ExpectedDocument,
    GivenResultDocument,
    call_of,
    raw,
)
from scenarios_app.serving.exchange import Exchange
from scenarios_app.serving.options import Options
from scenarios_app.serving.pipeline import Catalog, Pipeline
from scenarios_app.serving.reply import Ending, Reply
from scenarios_app.serving.respond import produced
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import wires_by_name
from scenarios_app.wire.samples import SampleRequest

_LONGEST = 20_000
# Faults after which an answer is not whole.
_ENDS = {"cut", "end", "malformed_event", "error_event"}


@dataclass(frozen=True, slots=True)
class Got:
    """What came. `status` is None where nothing was sent; `by_step` says that a step answered
    that is no catch-all's. `near` are the steps that came closest where none did."""

    status: int | None
    scenario: str
    step: str
    by_step: bool
    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCallPart, ...] = ()
    cut: bool = False
    near: tuple[NearMiss, ...] = ()

    @property
    def said(self) -> str:
        return self.text or ", ".join(f"{one.name}({one.arguments})" for one in self.tool_calls)

    @property
    def ended(self) -> bool:
        """Whether a client goes on from it."""
        return self.status is not None and self.status < 400 and not self.cut


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that should be so, what came in its place, and whether that will do."""

    what: str
    expected: str
    got: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that was played. `asked` is what it asked, in words."""

    number: int
    asked: str
    got: Got
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.ok for check in self.checks)


@dataclass(frozen=True, slots=True)
class Run:
    """A conversation that was played, and the steps that answered in it, by scenario."""

    name: str
    turns: tuple[Turn, ...]

    @property
    def passed(self) -> bool:
        return all(turn.passed for turn in self.turns)

    @property
    def failed(self) -> int:
        return sum(not turn.passed for turn in self.turns)

    @property
    def steps(self) -> frozenset[tuple[str, str]]:
        return frozenset((turn.got.scenario, turn.got.step) for turn in self.turns)


@dataclass(frozen=True, slots=True)
class Alone:
    """A catalog of these scenarios and no others."""

    index: Index

    def index_for(self, documents: Mapping[str, Json], version: int) -> Index:
        return self.index


async def play(
    conversation: ConversationDocument, *, catalog: Catalog, options: Options, of: str = ""
) -> Run:
    """Play it from its first turn to its last. Steps that are expected are those
    of the scenario `of`, where the conversation names no other one."""
    pipeline = Pipeline(catalog=catalog, state=MemoryState(), options=options)
    client = _Client(conversation)
    turns: list[Turn] = []
    for number, turn in enumerate(conversation.turns, 1):
        call = client.asks(turn)
        exchange = pipeline.exchange(call)
        reply = await pipeline.work(exchange)
        if exchange.streaming:
            pipeline.streams.free()
        got = _got(exchange, reply)
        client.hears(exchange, got)
        turns.append(Turn(number, _words(turn), got, tuple(checks(turn.expect, got, of=of))))
    return Run(conversation.name, tuple(turns))


@dataclass(slots=True)
class _Client:
    """What a client of the conversation remembers: what was `said`, what is `open` because nothing
    has answered it yet, and the last call."""

    conversation: ConversationDocument
    said: list[Message] = field(default_factory=list)
    open: list[Message] = field(default_factory=list)
    last: Call | None = None

    def asks(self, turn: AskedDocument) -> Call:
        if turn.retry and self.last is not None:
            return self.last
        if turn.request is not None:
            asked = turn.request
            body = asked.body if isinstance(asked.body, str) else json.dumps(asked.body)
            self.open = []
            self.last = raw(asked.path, body, headers=asked.headers, session="play")
            return self.last
        if turn.tool_results is not None:
            self.open = [Message("tool", tuple(self._results(turn.tool_results)))]
        else:
            self.open = [Message("user", (TextPart(turn.user or ""),))]
        given = self.conversation
        sent = wires_by_name()[given.provider].sample(
            SampleRequest(
                "",
                model=given.model,
                system=given.system,
                tools=tuple(given.tools),
                stream=given.stream,
                conversation=(*self.said, *self.open),
            )
        )
        self.last = call_of(sent, session="play")
        return self.last

    def hears(self, exchange: Exchange, got: Got) -> None:
        if got.ended:
            spoken: list[MessagePart] = [TextPart(got.text)] if got.text else []
            answer = Message("assistant", (*spoken, *got.tool_calls))
            self.said += [*self.open, answer]
            self.open = []

    def _results(self, given: Iterable[GivenResultDocument]) -> Iterator[ToolResultPart]:
        last = self.said[-1].parts if self.said else ()
        waiting = [part for part in last if isinstance(part, ToolCallPart)]
        for number, result in enumerate(given, 1):
            call = next((one for one in waiting if one.name == result.name), None)
            if call is not None:
                waiting.remove(call)
            key = call.id if call is not None else f"call_{number}"
            yield ToolResultPart(key, result.name, result.content)


def _got(exchange: Exchange, reply: Reply) -> Got:
    decision = exchange.decision
    scenario, step = exchange.answered_by
    found = bool(scenario and step) and decision is not None and not decision.fallback
    got = Got(
        status=reply.status if reply.started else None,
        scenario=scenario,
        step=step,
        by_step=found or exchange.computed,
        text=reply.said,
        cut=reply.ending is Ending.CUT or _breaks_off(exchange),
        near=decision.near_misses if decision and not found else (),
    )
    request = exchange.request
    if decision is None or decision.kind != "step" or request is None or reply.status >= 400:
        return got
    response = produced(exchange, decision, request)
    if not isinstance(response, CanonicalResponse):
        body = reply.body.decode("utf-8", "replace")
        return _with(got, text=body[:_LONGEST])
    parts = [part for choice in response.choices[:1] for part in choice.parts]
    texts = [part.text for part in parts if isinstance(part, TextPart | RefusalPart)]
    thoughts = [part.text for part in parts if isinstance(part, ReasoningPart)]
    calls = tuple(part for part in parts if isinstance(part, ToolCallPart))
    return _with(got, text="\n".join(texts), reasoning="\n".join(thoughts), tool_calls=calls)


def _breaks_off(exchange: Exchange) -> bool:
    """Whether a fault ends the answer early, whichever way the connection then closes."""
    decision, request = exchange.decision, exchange.request
    if decision is None or request is None or decision.kind not in ("step", "in_band", "failure"):
        return False
    own = decision.step.produce.fault if decision.step and decision.kind == "step" else None
    fault = decision.fault or decision.cancel(stream=request.stream) or own
    strike = strike_of(fault, stream=request.stream) if fault else ""
    kind = kind_of(fault) if fault else None
    ends = (kind.stream if request.stream else kind.whole) if kind else ""
    return strike == "inside" and ends in _ENDS


def _with(
    got: Got, *, text: str, reasoning: str = "", tool_calls: tuple[ToolCallPart, ...] = ()
) -> Got:
    return Got(
        status=got.status,
        scenario=got.scenario,
        step=got.step,
        by_step=got.by_step,
        text=text,
        reasoning=reasoning,
        tool_calls=tool_calls,
        cut=got.cut,
        near=got.near,
    )


def checks(expect: ExpectedDocument, got: Got, *, of: str = "") -> Iterator[Check]:
    """Everything that is expected, beside what came."""
    scenario = expect.scenario or (of if expect.step else None)
    if expect.status is None:
        yield Check("answered by", "a step", _by(got), got.by_step)
    else:
        status = "no answer" if got.status is None else str(got.status)
        yield Check("status", str(expect.status), status, got.status == expect.status)
    if scenario:
        yield Check("scenario", scenario, got.scenario, got.scenario == scenario)
    if expect.step is not None:
        yield Check("step", expect.step, got.step, got.step == expect.step)
    if expect.text is not None:
        yield _text("text", expect.text, got.said)
    if expect.reasoning is not None:
        yield _text("reasoning", expect.reasoning, got.reasoning)
    if expect.tool_calls is not None:
        wanted = [(one.name, one.arguments) for one in expect.tool_calls]
        came = [(one.name, _arguments(one)) for one in got.tool_calls]
        ok = len(wanted) == len(came) and all(
            name == other and _within(arguments, given)
            for (name, arguments), (other, given) in zip(wanted, came, strict=True)
        )
        yield Check("tool calls", _calls(wanted), _calls(came), ok)
    if expect.cut is not None:
        words = {True: "breaks off", False: "whole"}
        yield Check("end", words[expect.cut], words[got.cut], expect.cut == got.cut)


def _by(got: Got) -> str:
    if not got.step:
        return "no step"
    return f"step {got.step} of {got.scenario}" if got.by_step else "the catch-all"


def _text(what: str, wanted: TextConditionDocument, text: str) -> Check:
    condition = wanted.compiled()
    return Check(what, condition.describe(), text, condition.test(text))


def _arguments(call: ToolCallPart) -> Json:
    try:
        value: Json = json.loads(call.arguments)
    except ValueError:
        return call.arguments
    return value


def _within(wanted: object, given: object) -> bool:
    """Whether all that is wanted is there; objects may hold more."""
    if isinstance(wanted, dict):
        return isinstance(given, dict) and all(
            key in given and _within(value, given[key]) for key, value in wanted.items()
        )
    # As text: 1 is not true.
    return json.dumps(wanted, sort_keys=True) == json.dumps(given, sort_keys=True)


def _calls(calls: Iterable[tuple[str, object]]) -> str:
    told = (f"{name}({json.dumps(given, ensure_ascii=False)})" for name, given in calls)
    return ", ".join(told) or "none"


def _words(turn: AskedDocument) -> str:
    if turn.retry:
        return "the same once more"
    if turn.tool_results is not None:
        return ", ".join(f"{one.name} gives {shorten(one.content)}" for one in turn.tool_results)
    if turn.request is not None:
        return f"POST {turn.request.path}"
    return turn.user or ""
