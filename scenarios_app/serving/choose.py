"""From a request to what answers it, with everything that moves in the state on the way."""

import json
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol, TypeAlias
from urllib.parse import urlencode

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.engine.instructions import instructed
from scenarios_app.engine.instructions.probes import Received
from scenarios_app.engine.matching.index import Candidate, Index
from scenarios_app.engine.matching.select import (
    BY_ID_MODELS,
    Decision,
    NearMiss,
    Selection,
    assert_violations,
    candidates_naming_path,
    near_misses,
    near_misses_by_id,
    select,
    unmatched_message,
    violated_message,
    violations_of,
)
from scenarios_app.engine.producing.produce import scripted_answer
from scenarios_app.engine.scenario import Fault, GeneratedAnswer, ScriptedAnswer, Step
from scenarios_app.engine.secrets import is_secret, secrets_of, without_pieces
from scenarios_app.engine.state import AttemptRef, SessionState, StepRef
from scenarios_app.journal.redaction import redact_headers, redact_query
from scenarios_app.serving.options import Options
from scenarios_app.serving.worker import Work, at_once
from scenarios_app.wire.base import Call
from scenarios_app.wire.errors import WireError

Kind: TypeAlias = Literal[
    "step", "failure", "violation", "error_turn", "fallback_step", "in_band", "unmatched"
]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What answers. `text` is what an error turn, a fallback step or an error says; `fault` is what
    a failing attempt gets in place of its step's answer. In band, `scripted` is the answer and
    `text` its name. After `cancel_after_chunks`, if given, a stream breaks off."""

    kind: Kind
    way: str
    decision: Decision
    text: str = ""
    fault: Fault | None = None
    scripted: ScriptedAnswer | None = None
    cancel_after_chunks: int | None = None

    def cancel(self, *, stream: bool) -> Fault | None:
        """What breaks a stream off; a whole answer stays whole."""
        after = self.cancel_after_chunks
        return Fault("truncate", after_chunks=after) if stream and after is not None else None


class Memory(Protocol):
    """What choosing needs of a `StateStore`."""

    async def consume(self, session: str, step: StepRef) -> bool: ...
    async def consumed(self, session: str) -> Container[tuple[str, str]]: ...
    async def fail(self, session: str, attempt: AttemptRef, *, times: int) -> bool: ...
    async def count(self, session: str, counter: str) -> int: ...
    async def violate(self, session: str, violation: str) -> None: ...
    async def read(self, session: str) -> SessionState: ...


@dataclass(frozen=True, slots=True)
class Choosing:
    """One request's way through the index. It consumes, counts and remembers violations."""

    index: Index
    request: CanonicalRequest
    session: str
    state: Memory
    work: Work = at_once

    async def choose(self) -> Chosen:
        """What answers the request."""
        consumed = await self.state.consumed(self.session)
        selection = await self.work(select, self.index, self.request, consumed)
        if selection.way == "unknown":
            return Chosen("unmatched", "match", Decision(), text=selection.error_text or "")
        if selection.way == "by_id" and selection.step is None:
            return await self._missing(selection)
        chosen = await self._first(selection.candidates, selection.way)
        if chosen is None:
            near = await self._near(selection)
            decision = Decision(near_misses=near)
            return Chosen("unmatched", selection.way, decision, text=unmatched_message(near))
        scenario = chosen.decision.scenario
        if scenario is not None and scenario.catch_all:
            near = await self._near(selection)
            decision = replace(chosen.decision, fallback=True, near_misses=near)
            return replace(chosen, decision=decision)
        return chosen

    async def override(self) -> Chosen | None:
        """What answers in place of a computed answer, if a step names the request's path."""
        consumed = await self.state.consumed(self.session)
        found = candidates_naming_path(self.index, self.request, consumed)
        return await self._first(found, "match")

    async def _first(self, candidates: Iterator[Candidate], way: str) -> Chosen | None:
        while (candidate := await self.work(next, candidates, None)) is not None:
            chosen = await self._try(candidate, way)
            if chosen is not None:
                return chosen
        return None

    async def _try(self, candidate: Candidate, way: str) -> Chosen | None:
        """The answer of one candidate; None where its step has been served already.

        Expectations come before failures, and neither consumes; so a step that has either is
        looked up first, lest one that was served fails or complains again.
        """
        scenario, step, session = candidate.scenario, candidate.step, self.session
        ref = StepRef(scenario.name, step.key, step.label)
        consumable = step.consume and way == "match"
        violations = violations_of(scenario, step, self.request)
        attempt = 0
        if violations or step.failures is not None:
            before = await self.state.read(session)
            if consumable and any(_same(ref, served) for served in before.consumed):
                return None
            counted = AttemptRef(ref, self.request.provider)
            attempt = next((n for a, n in before.attempts if _same_attempt(a, counted)), 0)
            if violations:
                await self._violate(violations)
                decision = Decision(scenario, step, attempt, violations)
                if way == "by_id":
                    return Chosen("error_turn", way, decision, text=violations[0])
                text = violated_message(scenario, step, self.request)
                return Chosen("violation", way, decision, text=text)
            failures = step.failures
            if failures and await self.state.fail(session, counted, times=failures.times):
                decision = Decision(scenario, step, attempt + 1, groups=candidate.groups)
                return Chosen("failure", way, decision, fault=failures.fault)
        if consumable and not await self.state.consume(session, ref):
            return None
        failed = await self._side_effects(step)
        decision = Decision(scenario, step, attempt, failed, groups=candidate.groups)
        return Chosen("step", way, decision)

    async def _side_effects(self, step: Step) -> tuple[str, ...]:
        effects = step.side_effects
        if effects.counter is not None:
            await self.state.count(self.session, effects.counter)
        failed = assert_violations(step, self.request) if effects.asserts else ()
        await self._violate(failed)
        return failed

    async def _missing(self, selection: Selection) -> Chosen:
        """A scenario asked for by id that does not exist, or has no step for this turn."""
        scenario, missing = selection.scenario, selection.error_text or ""
        violations: tuple[str, ...] = ()
        if scenario is not None:
            violations = violations_of(scenario, None, self.request)
        kind: Kind = "error_turn" if violations or scenario is None else "fallback_step"
        violations = violations or (missing,)
        await self._violate(violations)
        named = scenario.name if scenario is not None else None
        near = await self.work(near_misses_by_id, self.index, self.request, scenario=named)
        decision = Decision(scenario, violations=violations, near_misses=near)
        return Chosen(kind, selection.way, decision, text=violations[0])

    async def _violate(self, violations: tuple[str, ...]) -> None:
        for violation in violations:
            await self.state.violate(self.session, violation)

    async def _near(self, selection: Selection) -> tuple[NearMiss, ...]:
        served = (await self.state.read(self.session)).consumed
        name = selection.scenario.name if selection.scenario else None
        return await self.work(near_misses, self.index, self.request, served=served, scenario=name)


def _same(one: StepRef, other: StepRef) -> bool:
    # A label may be edited while the step stays the same.
    return one.key == other.key and one.scenario == other.scenario


def _same_attempt(one: AttemptRef, other: AttemptRef) -> bool:
    return one.provider == other.provider and _same(one.step, other.step)


def choose_in_band(call: Call, request: CanonicalRequest, options: Options) -> Chosen | None:
    """What an instruction block in the request asks for; raises WireError for a wrong one."""
    if not options.inband or request.model.startswith(BY_ID_MODELS):
        return None
    found = instructed(request, partial(received, call), max_text_bytes=options.max_text_bytes)
    if isinstance(found, ErrorAnswer):
        raise WireError(found.status, found.message, param=found.param)
    if found is None:
        return None
    own, common = found.cancel_after_chunks, options.cancel_after_chunks
    return Chosen(
        "in_band",
        "in_band",
        Decision(),
        text=found.label,
        scripted=found.answer,
        cancel_after_chunks=common if own is None else own,
    )


def with_cancel(chosen: Chosen, options: Options) -> Chosen:
    """A choice whose stream breaks off where the settings say, if it is a generated one. A fault
    that its step scripts goes before."""
    step = chosen.decision.step
    if options.cancel_after_chunks is None or chosen.kind != "step" or step is None:
        return chosen
    generated = isinstance(scripted_answer(step.produce, stream=True), GeneratedAnswer)
    if not generated or step.produce.fault is not None:
        return chosen
    return replace(chosen, cancel_after_chunks=options.cancel_after_chunks)


def received(call: Call) -> Received:
    """A call as it came, but for its secrets."""
    query = call.raw_query
    if any(map(is_secret, call.query)):
        query = urlencode(redact_query(call.query), safe="*")
    secrets = secrets_of(call.headers, call.query)
    headers = redact_headers(call.headers.items())
    return Received(
        url=f"{call.path}?{query}" if query else call.path,
        headers={name: without_pieces(value, secrets) for name, value in headers.items()},
        body=json.loads(call.body),
    )
