"""Selects the step that answers a request, and updates the session's state on the way."""

import json
from collections.abc import Callable, Container, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest, ErrorAnswer
from scenarios_app.engine.changes import AnswerChanges
from scenarios_app.engine.instructions import build_instructed_answer
from scenarios_app.engine.instructions.probes import Received
from scenarios_app.engine.matching.expectations import (
    assert_violations,
    violated_message,
    violations_of,
)
from scenarios_app.engine.matching.index import NO_EXPECTATIONS, Candidate, Index
from scenarios_app.engine.matching.near_misses import (
    NearMiss,
    near_misses,
    near_misses_by_id,
    unmatched_message,
)
from scenarios_app.engine.matching.select import (
    BY_ID_MODEL_PREFIX,
    Decision,
    SelectionWay,
    decide_by_id,
    scenario_in_header,
)
from scenarios_app.engine.producing.produce import scripted_answer
from scenarios_app.engine.redaction import redact_pairs, redact_text
from scenarios_app.engine.scenario import GeneratedAnswer, Scenario, Step
from scenarios_app.engine.secrets import is_secret, secrets_of, without_pieces
from scenarios_app.engine.state import AnswerState, AttemptRef, SessionState, StepRef
from scenarios_app.serving.executor import Work, run_inline
from scenarios_app.serving.options import Options
from scenarios_app.wire.base import Call
from scenarios_app.wire.errors import WireError

# At most so many steps are tried in one call of the state while other requests take them.
CLAIM_BATCH = 64


class Candidates(NamedTuple):
    """The steps that may answer a request: the best, or None, and the others in order. `name` is
    set if a header narrowed the search to one scenario."""

    name: str | None
    best: Candidate | None
    others: Iterator[Candidate]


class StepSelection(msgspec.Struct, frozen=True):
    """Selects the step for one request. It consumes steps, counts attempts and records
    violations."""

    index: Index
    request: CanonicalRequest
    session: str
    consumed: Container[tuple[str, str]]
    state: AnswerState
    work: Work = run_inline
    # Masked in what is stored.
    secrets: tuple[str, ...] = ()
    changes: AnswerChanges | None = None

    async def choose(self) -> Decision:
        """Return the decision for the request; consume its step, or count the attempt that
        fails."""
        if self.changes is not None and (
            left := self.changes.pop_unconsumed_step(self.session, self.request)
        ):
            await self.state.consume(self.session, left)
        decision = await self.work(self._lookup)
        if not isinstance(decision, Decision):
            return await self._decide_by_match(decision)
        if decision.way == "match":
            return decision
        if decision.scenario is None or decision.step is None:
            return await self._decide_missing(decision)
        chosen = await self._try_candidate(Candidate(decision.scenario, decision.step), "by_id")
        assert chosen is not None
        return chosen

    def _lookup(self) -> Decision | Candidates:
        """Return a decision made by name, or the candidates. Reads no state, so it may run in a
        thread."""
        decision = decide_by_id(self.index, self.request)
        if decision is not None:
            return decision
        narrowed = scenario_in_header(self.index, self.request)
        if isinstance(narrowed, Decision):
            return narrowed
        name = narrowed.name if narrowed else None
        candidates = self.index.candidates(self.request, scenario=name, consumed=self.consumed)
        return Candidates(name, next(candidates, None), candidates)

    async def _decide_by_match(self, candidates: Candidates) -> Decision:
        """Return the decision of the first free candidate, or an unmatched one with near misses."""
        decision = await self._first_free(candidates)
        if decision is None and (changed := self._changed_candidate()):
            return await self._serve_step(changed, "match")
        if decision is None:
            near = await self._near_misses(candidates.name)
            return Decision("unmatched", "match", near_misses=near, text=unmatched_message(near))
        if decision.scenario is not None and decision.scenario.catch_all:
            return decision._replace(
                fallback=True, near_misses=await self._near_misses(candidates.name)
            )
        return decision

    def _changed_candidate(self) -> Candidate | None:
        """Return, once, the step that was consumed after its answer was changed, or None. It
        answers again a request for which no other step is left."""
        ref = self.changes.pop_consumed_step(self.session) if self.changes is not None else None
        scenario = self.index.by_name.get(ref.scenario) if ref else None
        if ref is None or scenario is None:
            return None
        step = next((step for step in scenario.steps if step.key == ref.key), None)
        return None if step is None else Candidate(scenario, step)

    async def first_of(self, only: Callable[[Step], bool]) -> Decision | None:
        """Return the decision of the first free step of which `only` is true, of one scenario if a
        header names it; None if all are consumed."""
        narrowed = scenario_in_header(self.index, self.request)
        name = narrowed.name if isinstance(narrowed, Scenario) else None
        every = self.index.candidates(self.request, only, scenario=name, consumed=self.consumed)
        return await self._first_free(Candidates(name, await self.work(next, every, None), every))

    async def _first_free(self, start: Candidates) -> Decision | None:
        """Return the decision of the first candidate that is not consumed, or None."""
        _, candidate, candidates = start
        while candidate is not None:
            decision = await self._try_candidate(candidate, "match")
            if decision is None and self._is_plain(candidate):
                # Other requests take steps at the same time, so claim the first free one of many.
                decision, candidates = await self._claim_first_free(candidates)
            if decision is not None:
                return decision
            candidate = await self.work(next, candidates, None)
        return None

    async def _claim_first_free(
        self, candidates: Iterator[Candidate]
    ) -> tuple[Decision | None, Iterator[Candidate]]:
        """Consume the first free one of up to CLAIM_BATCH plain candidates, with its side effects.
        Return its decision, or None, and the candidates after these. The batch ends before a
        candidate that is not plain."""
        plain: list[Candidate] = []
        while len(plain) < CLAIM_BATCH:
            candidate = await self.work(next, candidates, None)
            if candidate is None:
                break
            if not self._is_plain(candidate):
                candidates = chain([candidate], candidates)
                break
            plain.append(candidate)
        place = await self.state.consume_first(self.session, list(map(_step_ref, plain)))
        if place is None:
            return None, candidates
        return await self._serve_step(plain[place], "match"), candidates

    def _is_plain(self, candidate: Candidate) -> bool:
        """Return whether a step answers as soon as it can be consumed, without expectations,
        failures or changes."""
        scenario, step = candidate.scenario, candidate.step
        expects = scenario.system_prompt_must_include or step.expect != NO_EXPECTATIONS
        return step.consume and not expects and step.failures is None and self.changes is None

    async def _try_candidate(self, candidate: Candidate, way: SelectionWay) -> Decision | None:
        """Return the decision of one candidate, or None if its step is consumed already.
        Expectations come before failures, and neither consumes. So a step with either is looked up
        first: a consumed one must not fail or complain again."""
        scenario, step, session = candidate.scenario, candidate.step, self.session
        consumable = step.consume and way == "match"
        expects = scenario.system_prompt_must_include or step.expect != NO_EXPECTATIONS
        violations = violations_of(scenario, step, self.request) if expects else ()
        failures, attempt = step.failures, 0
        ref = _step_ref(candidate)
        if violations or failures is not None:
            before = await self.state.read(session)
            if consumable and any(_is_same_step(ref, served) for served in before.consumed):
                return None
            counted = AttemptRef(ref, self.request.provider)
            attempt = attempts_of(before, counted)
            if violations:
                await self._record_violations(violations)
                return self._violation_decision(candidate, way, violations, attempt=attempt)
            if failures and await self.state.count_failure(session, counted, times=failures.times):
                return Decision(
                    "failure",
                    way,
                    scenario,
                    step,
                    attempt=attempt + 1,
                    groups=candidate.groups,
                    fault=failures.fault,
                )
        if self.changes is not None and not (
            consumable and (ref.scenario, ref.key) in self.consumed
        ):
            numbered = self.changes.next_if_changed(session, ref, self.request, consume=consumable)
            if numbered is not None and (change := numbered.change) is not None:
                return Decision(
                    "failure",
                    way,
                    scenario,
                    step,
                    groups=candidate.groups,
                    fault=change.fault,
                    numbered=numbered,
                )
        if consumable and not await self.state.consume(session, ref):
            return None
        return await self._serve_step(candidate, way, attempt=attempt)

    async def _serve_step(
        self, candidate: Candidate, way: SelectionWay, *, attempt: int = 0
    ) -> Decision:
        """Return the decision of a step that was claimed, after its side effects."""
        numbered = None
        if self.changes is not None:
            numbered = self.changes.next_answer(self.session, _step_ref(candidate), self.request)
        return Decision(
            "step",
            way,
            candidate.scenario,
            candidate.step,
            attempt=attempt,
            violations=await self._apply_side_effects(candidate.step),
            groups=candidate.groups,
            numbered=numbered,
        )

    def _violation_decision(
        self, candidate: Candidate, way: SelectionWay, violations: tuple[str, ...], *, attempt: int
    ) -> Decision:
        """Return the decision for violated expectations: an answer with their text if the step was
        chosen by name, else an error."""
        scenario, step = candidate.scenario, candidate.step
        by_id = way == "by_id"
        text = violations[0] if by_id else violated_message(scenario, step, self.request)
        return Decision(
            "error_turn" if by_id else "violation",
            way,
            scenario,
            step,
            text=text,
            attempt=attempt,
            violations=violations,
        )

    async def _apply_side_effects(self, step: Step) -> tuple[str, ...]:
        """Increment the step's counter and check its asserts; return those that failed, which are
        recorded."""
        effects = step.side_effects
        if effects.counter is not None:
            await self.state.increment(self.session, effects.counter)
        failed = assert_violations(step, self.request) if effects.asserts else ()
        await self._record_violations(failed)
        return failed

    async def _decide_missing(self, decision: Decision) -> Decision:
        """Return the decision for a name without a scenario, or a scenario without this turn, and
        record the violation. Expectations that the scenario has come first."""
        scenario, name = decision.scenario, None
        violations: tuple[str, ...] = ()
        if scenario is not None:
            name = scenario.name
            violations = violations_of(scenario, None, self.request)
        if violations:
            decision = decision._replace(kind="error_turn", text=violations[0])
        violations = violations or (decision.text,)
        await self._record_violations(violations)
        near = await self.work(near_misses_by_id, self.index, self.request, scenario=name)
        return decision._replace(violations=violations, near_misses=near)

    async def _record_violations(self, violations: tuple[str, ...]) -> None:
        """Add violations to the session, with secrets masked."""
        for violation in violations:
            await self.state.add_violation(self.session, redact_text(violation, self.secrets))

    async def _near_misses(self, name: str | None) -> tuple[NearMiss, ...]:
        """Return the closest steps, of one scenario if `name` is given."""
        served = self.consumed
        return await self.work(near_misses, self.index, self.request, served=served, scenario=name)


def _step_ref(candidate: Candidate) -> StepRef:
    """Return the step of a candidate as sessions store it."""
    return StepRef(candidate.scenario.name, candidate.step.key, candidate.step.label)


def _is_same_step(one: StepRef, other: StepRef) -> bool:
    """Return True if both are the same step, whose label may have been edited."""
    return one.key == other.key and one.scenario == other.scenario


def attempts_of(state: SessionState, attempt: AttemptRef) -> int:
    """Return the failures that a session has counted of an attempt, under any label of its step."""
    for other, count in state.attempts:
        if other.provider == attempt.provider and _is_same_step(other.step, attempt.step):
            return count
    return 0


def choose_in_band(call: Call, request: CanonicalRequest, options: Options) -> Decision | None:
    """Return the decision of an instruction block in the request, or None without one. Raises
    WireError for an invalid block."""
    if not options.inband or request.model.startswith(BY_ID_MODEL_PREFIX):
        return None
    instructed = build_instructed_answer(
        request, partial(to_received, call), max_text_bytes=options.max_text_bytes
    )
    if isinstance(instructed, ErrorAnswer):
        raise WireError(instructed.status, instructed.message, param=instructed.param)
    if instructed is None:
        return None
    own, common = instructed.cancel_after_chunks, options.cancel_after_chunks
    return Decision(
        "in_band",
        "in_band",
        text=instructed.label,
        scripted=instructed.answer,
        cancel_after_chunks=common if own is None else own,
    )


def with_cancel(decision: Decision, options: Options) -> Decision:
    """Return the decision with the options' `cancel_after_chunks`, if the answer is generated and
    has no scripted fault."""
    step = decision.step
    if options.cancel_after_chunks is None or decision.kind != "step" or step is None:
        return decision
    generated = isinstance(scripted_answer(step.produce, stream=True), GeneratedAnswer)
    if not generated or step.produce.fault is not None:
        return decision
    return decision._replace(cancel_after_chunks=options.cancel_after_chunks)


def to_received(call: Call) -> Received:
    """Return a call's URL and headers, with secrets masked, and its whole JSON body, for probes."""
    query = call.raw_query
    if any(map(is_secret, call.query)):
        query = urlencode(redact_pairs(call.query.items()), safe="*")
    secrets = secrets_of(call.headers, call.query)
    headers = redact_pairs(call.headers.items())
    return Received(
        url=f"{call.path}?{query}" if query else call.path,
        headers={name: without_pieces(value, secrets) for name, value in headers.items()},
        body=json.loads(call.body),
    )
