"""Plays a conversation through an in-memory pipeline, and compares responses with expected ones."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from scenarios_app.engine.canonical import CanonicalResponse, Json, Message
from scenarios_app.engine.conditions.text_shapes import TextConditionDocument
from scenarios_app.engine.conditions.texts import shorten
from scenarios_app.engine.conditions.tools import input_of
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
from scenarios_app.engine.producing.faults import fault_stage_of, kind_of
from scenarios_app.play.conversation import (
    ConversationDocument,
    ExpectedCallDocument,
    ExpectedDocument,
    PlayedToolResultDocument,
    PlayedTurnDocument,
    json_or_text,
    raw_call,
    sample_call,
)
from scenarios_app.serving.exchange import Exchange
from scenarios_app.serving.options import Options
from scenarios_app.serving.pipeline import Catalog, Pipeline
from scenarios_app.serving.reply import Reply
from scenarios_app.serving.respond import produce_answer
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import wires_by_name
from scenarios_app.wire.samples import SampleRequest

_MAX_TEXT_CHARS = 20_000
# Fault strikes that leave a response incomplete.
_TRUNCATING_STRIKES = {"cut", "end", "malformed_event", "error_event"}


@dataclass(frozen=True, slots=True)
class TurnResponse:
    """The response of a turn.

    `status` is None if nothing was sent. `scenario` and `step` are "" if no step answered.
    `by_step` is true for an answer that is computed, or of a step that is not the catch-all's;
    otherwise `near` are the closest steps. `cut` is true if it breaks off.
    """

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
    def text_or_calls(self) -> str:
        """The text; without text the tool calls, such as `search({"q": "x"})`."""
        return self.text or ", ".join(f"{call.name}({call.arguments})" for call in self.tool_calls)

    @property
    def is_complete(self) -> bool:
        """True if a client adds the response to its conversation."""
        return self.status is not None and self.status < 400 and not self.cut


@dataclass(frozen=True, slots=True)
class Check:
    """A compared property of a response: its name, expected and actual value in words."""

    name: str
    expected: str
    actual: str
    ok: bool


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """A played turn; `request` describes its request in words."""

    number: int
    request: str
    response: TurnResponse
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.ok for check in self.checks)


@dataclass(frozen=True, slots=True)
class PlayedConversation:
    """A played conversation."""

    name: str
    turns: tuple[PlayedTurn, ...]

    @property
    def passed(self) -> bool:
        return all(turn.passed for turn in self.turns)

    @property
    def failed(self) -> int:
        """The number of turns that did not pass."""
        return sum(not turn.passed for turn in self.turns)


@dataclass(frozen=True, slots=True)
class FixedCatalog:
    """A catalog that returns the same index for every session."""

    index: Index

    def index_for(self, documents: Mapping[str, Json], version: int) -> Index:
        return self.index


async def play(
    conversation: ConversationDocument, *, catalog: Catalog, options: Options, scenario: str = ""
) -> PlayedConversation:
    """Play all turns of a conversation in a new session; expected steps without a scenario are of
    `scenario`."""
    player = Player(conversation, catalog=catalog, options=options)
    turns: list[PlayedTurn] = []
    for number, turn in enumerate(conversation.turns, 1):
        response = await player.play_turn(turn)
        checks = tuple(check_response(turn.expect, response, scenario=scenario))
        turns.append(PlayedTurn(number, _describe_request(turn), response, checks))
    return PlayedConversation(conversation.name, tuple(turns))


class Player:
    """A client of an in-memory pipeline in a new session. It uses only the settings of the
    conversation; `play_turn` takes the turns one by one."""

    def __init__(
        self, conversation: ConversationDocument, *, catalog: Catalog, options: Options
    ) -> None:
        self._pipeline = Pipeline(catalog=catalog, state=MemoryState(), options=options)
        self._conversation = conversation
        # Messages with complete responses, and later ones.
        self._history: list[Message] = []
        self._pending: list[Message] = []
        self._last_call: Call | None = None

    async def play_turn(self, turn: PlayedTurnDocument) -> TurnResponse:
        """Send the request of a turn and return the response."""
        if not turn.retry or self._last_call is None:
            self._last_call = self._next_call(turn)
        exchange = self._pipeline.new_exchange(self._last_call)
        reply = await self._pipeline.reply_to(exchange)
        if exchange.streaming:
            self._pipeline.streams.free()
        response = _turn_response(exchange, reply)
        if response.is_complete:
            texts: list[MessagePart] = [TextPart(response.text)] if response.text else []
            message = Message("assistant", (*texts, *response.tool_calls))
            self._history += [*self._pending, message]
            self._pending = []
        return response

    def _next_call(self, turn: PlayedTurnDocument) -> Call:
        """Return the call of a turn and set its message as pending; a raw request has none."""
        if (request := turn.request) is not None:
            body = request.body if isinstance(request.body, str) else json.dumps(request.body)
            self._pending = []
            return raw_call(request.path, body, headers=request.headers, session="play")
        if turn.tool_results is not None:
            self._pending = [Message("tool", tuple(self._result_parts(turn.tool_results)))]
        else:
            self._pending = [Message("user", (TextPart(turn.user or ""),))]
        document = self._conversation
        sample = SampleRequest(
            "",
            model=document.model,
            system=document.system,
            tools=tuple(document.tools),
            stream=document.stream,
            conversation=(*self._history, *self._pending),
        )
        return sample_call(wires_by_name()[document.provider].sample(sample), session="play")

    def _result_parts(
        self, results: Iterable[PlayedToolResultDocument]
    ) -> Iterator[ToolResultPart]:
        """Yield the results of a turn, each with the id of the open call of its tool; without an
        open call the id is `call_` and the number of the result."""
        last_parts = self._history[-1].parts if self._history else ()
        open_calls = [part for part in last_parts if isinstance(part, ToolCallPart)]
        for number, result in enumerate(results, 1):
            call = next((call for call in open_calls if call.name == result.name), None)
            if call is not None:
                open_calls.remove(call)
            call_id = call.id if call is not None else f"call_{number}"
            yield ToolResultPart(call_id, result.name, result.content)


def _turn_response(exchange: Exchange, reply: Reply) -> TurnResponse:
    """Return the response that the client of a turn gets, with the step that answered."""
    decision = exchange.decision
    scenario, step = exchange.answered_by
    matched = bool(scenario and step) and decision is not None and not decision.fallback
    response = TurnResponse(
        status=reply.status if reply.started else None,
        scenario=scenario,
        step=step,
        by_step=matched or exchange.computed,
        text=reply.preview,
        cut=reply.cut or _is_truncated(exchange),
        near=decision.near_misses if decision and not matched else (),
    )
    request = exchange.request
    if decision is None or decision.kind != "step" or request is None or reply.status >= 400:
        return response
    answer = produce_answer(exchange, decision, request)
    if not isinstance(answer, CanonicalResponse):
        body = reply.body.decode("utf-8", "replace")
        return replace(response, text=body[:_MAX_TEXT_CHARS])
    parts = [part for choice in answer.choices[:1] for part in choice.parts]
    texts = [part.text for part in parts if isinstance(part, TextPart | RefusalPart)]
    reasoning = [part.text for part in parts if isinstance(part, ReasoningPart)]
    return replace(
        response,
        text="\n".join(texts),
        reasoning="\n".join(reasoning),
        tool_calls=tuple(part for part in parts if isinstance(part, ToolCallPart)),
    )


def _is_truncated(exchange: Exchange) -> bool:
    """Return True if a fault ends the response early, however the connection then closes."""
    decision, request = exchange.decision, exchange.request
    if decision is None or request is None or decision.kind not in ("step", "in_band", "failure"):
        return False
    step_fault = decision.step.produce.fault if decision.step and decision.kind == "step" else None
    fault = decision.fault or decision.cancel_fault(stream=request.stream) or step_fault
    if not fault or fault_stage_of(fault, stream=request.stream) != "inside":
        return False
    kind = kind_of(fault)
    return (kind.stream if request.stream else kind.whole) in _TRUNCATING_STRIKES


def check_response(
    expect: ExpectedDocument, response: TurnResponse, *, scenario: str = ""
) -> Iterator[Check]:
    """Yield a check for each expectation, and that a step answered if no status is expected. An
    expected step is one of `scenario` by default."""
    expected_scenario = expect.scenario or (scenario if expect.step else None)
    if expect.status is None:
        yield Check("answered by", "a step", _describe_step(response), response.by_step)
    else:
        status = "no answer" if response.status is None else str(response.status)
        yield Check("status", str(expect.status), status, response.status == expect.status)
    if expected_scenario:
        is_same = response.scenario == expected_scenario
        yield Check("scenario", expected_scenario, response.scenario, is_same)
    if expect.step is not None:
        yield Check("step", expect.step, response.step, response.step == expect.step)
    if expect.text is not None:
        yield _check_text("text", expect.text, response.text_or_calls)
    if expect.reasoning is not None:
        yield _check_text("reasoning", expect.reasoning, response.reasoning)
    if expect.tool_calls is not None:
        calls = response.tool_calls
        is_same = len(expect.tool_calls) == len(calls)
        ok = is_same and all(map(_is_expected_call, expect.tool_calls, calls))
        wanted = ", ".join(map(_describe_expected_call, expect.tool_calls)) or "none"
        yield Check("tool calls", wanted, ", ".join(map(_describe_call, calls)) or "none", ok)
    if expect.cut is not None:
        words = {True: "breaks off", False: "whole"}
        yield Check("end", words[expect.cut], words[response.cut], expect.cut == response.cut)


def _describe_step(response: TurnResponse) -> str:
    if not response.step:
        return "no step"
    if not response.by_step:
        return "the default answer"
    return f"step {response.step} of {response.scenario}"


def _check_text(name: str, expected: TextConditionDocument, text: str) -> Check:
    condition = expected.compile()
    return Check(name, condition.describe(), text, condition.test(text))


def _is_expected_call(expected: ExpectedCallDocument, call: ToolCallPart) -> bool:
    """Return True if a call has the expected name, namespace and input, and these arguments."""
    arguments = json_or_text(call.arguments)
    return (
        expected.name == call.name
        and expected.namespace in (None, call.namespace)
        and (not expected.arguments or _contains(arguments, expected.arguments))
        and (expected.input is None or expected.input.compile().test(input_of(call, arguments)))
    )


def _describe_expected_call(expected: ExpectedCallDocument) -> str:
    """Return an expected tool call in words, such as `search({"q": "x"})`."""
    name = f"{expected.namespace}.{expected.name}" if expected.namespace else expected.name
    if expected.input is not None:
        return f"{name}(input {expected.input.compile().describe()})"
    return f"{name}({json.dumps(expected.arguments, ensure_ascii=False)})"


def _describe_call(call: ToolCallPart) -> str:
    return f"{call.full_name}({json.dumps(json_or_text(call.arguments), ensure_ascii=False)})"


def _contains(actual: object, expected: object) -> bool:
    """Return True if the actual JSON equals the expected; its objects may have more keys."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            key in actual and _contains(actual[key], value) for key, value in expected.items()
        )
    # Compared as JSON, since 1 == True in Python.
    return json.dumps(expected, sort_keys=True) == json.dumps(actual, sort_keys=True)


def _describe_request(turn: PlayedTurnDocument) -> str:
    if turn.retry:
        return "retry"
    if turn.tool_results is not None:
        return ", ".join(
            f"{result.name} gives {shorten(result.content)}" for result in turn.tool_results
        )
    if turn.request is not None:
        return f"POST {turn.request.path}"
    return turn.user or ""
