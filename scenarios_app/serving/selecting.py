"""From a request to what answers it, with everything that moves in the state on the way."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.index import Candidate, Index
from scenarios_app.engine.scenario import Fault, ScriptedAnswer, Step
from scenarios_app.engine.select import (
    Decision,
    NearMiss,
    Selection,
    assert_violations,
    candidates_naming_path,
    near_misses,
    near_misses_by_id,
    select,
    unmatched_message,
    violations_of,
)
from scenarios_app.engine.state import AttemptRef, SessionState, StepRef

Kind: TypeAlias = Literal["step", "failure", "error_turn", "fallback_step", "in_band", "unmatched"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What answers. `text` is what an error turn, a fallback step or a 404 says; `fault` is what
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

    async def choose(self) -> Chosen:
        """What answers the request."""
        selection = select(self.index, self.request)
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
        return await self._first(candidates_naming_path(self.index, self.request), "match")

    async def _first(self, candidates: Iterator[Candidate], way: str) -> Chosen | None:
        for candidate in candidates:
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
                return Chosen("error_turn", way, decision, text=violations[0])
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
        near = near_misses_by_id(self.index, self.request, scenario=named)
        decision = Decision(scenario, violations=violations, near_misses=near)
        return Chosen(kind, selection.way, decision, text=violations[0])

    async def _violate(self, violations: tuple[str, ...]) -> None:
        for violation in violations:
            await self.state.violate(self.session, violation)

    async def _near(self, selection: Selection) -> tuple[NearMiss, ...]:
        served = (await self.state.read(self.session)).consumed
        name = selection.scenario.name if selection.scenario else None
        return near_misses(self.index, self.request, served=served, scenario=name)


def _same(one: StepRef, other: StepRef) -> bool:
    # A label may be edited while the step stays the same.
    return one.key == other.key and one.scenario == other.scenario


def _same_attempt(one: AttemptRef, other: AttemptRef) -> bool:
    return one.provider == other.provider and _same(one.step, other.step)
