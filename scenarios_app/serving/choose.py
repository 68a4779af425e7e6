"""From a request to what answers it, with everything that moves in the state on the way."""

import json
from collections.abc import Callable, Container, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest, ErrorAnswer
from scenarios_app.engine.instructions import build_instructed_answer
from scenarios_app.engine.instructions.probes import Received
from scenarios_app.engine.matching.expectations import (
    assert_violations,
    violated_message,
    violations_of,
)
from scenarios_app.engine.matching.index import Candidate, Index
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
from scenarios_app.engine.redaction import redact_headers, redact_query, redact_text
from scenarios_app.engine.scenario import Expect, GeneratedAnswer, Scenario, Step
from scenarios_app.engine.secrets import is_secret, secrets_of, without_pieces
from scenarios_app.engine.state import AnswerState, AttemptRef, StepRef
from scenarios_app.serving.cache.requests import CachedRequest
from scenarios_app.serving.executor import Work, run_inline
from scenarios_app.serving.options import Options
from scenarios_app.wire.base import Call
from scenarios_app.wire.errors import WireError

# What a step expects that expects nothing.
NO_EXPECTATIONS = Expect()
# So many steps are tried at once where others take them.
CLAIM_BATCH = 64


class Candidates(NamedTuple):
    """What may answer a request, of the scenario alone that is named: the best, and the others."""

    name: str | None
    best: Candidate | None
    others: Iterator[Candidate]


class StepSelection(msgspec.Struct, frozen=True):
    """One request's way through the index. It consumes, counts and remembers violations."""

    index: Index
    request: CanonicalRequest
    session: str
    consumed: Container[tuple[str, str]]
    state: AnswerState
    work: Work = run_inline
    # None of these is remembered.
    secrets: tuple[str, ...] = ()
    # The request, if it came before.
    cached_request: CachedRequest | None = None

    async def choose(self) -> Decision:
        """What answers the request."""
        found: Decision | Candidates | None = self._from_cache()
        if found is None:
            found = await self.work(self._lookup)
        if not isinstance(found, Decision):
            return await self._decide_by_match(found)
        if found.way == "match":
            return found
        if found.scenario is None or found.step is None:
            return await self._missing_by_id(found)
        only = Candidate(found.scenario, found.step)
        chosen = await self._try_candidate(only, "by_id")
        assert chosen is not None
        return chosen

    def _from_cache(self) -> Candidates | None:
        """What the same request found before, if that is still to be had."""
        first = self.cached_request.first_match(self.index) if self.cached_request else None
        if first is None:
            return None
        step = first.step
        if step.consume and (first.scenario.name, step.key) in self.consumed:
            return None
        return Candidates(None, first, self._fallbacks(first))

    def _fallbacks(self, first: Candidate) -> Iterator[Candidate]:
        """What comes after the first."""
        for candidate in self.index.candidates(self.request, consumed=self.consumed):
            if candidate.step is not first.step:
                yield candidate

    def _lookup(self) -> Decision | Candidates:
        """What is decided by name, or what may answer; all of it that takes no state."""
        decision = decide_by_id(self.index, self.request)
        if decision is not None:
            return decision
        narrowed = scenario_in_header(self.index, self.request)
        if isinstance(narrowed, Decision):
            return narrowed
        name = narrowed.name if narrowed else None
        candidates = self.index.candidates(self.request, scenario=name, consumed=self.consumed)
        return Candidates(name, next(candidates, None), candidates)

    async def _decide_by_match(self, found: Candidates) -> Decision:
        decision = await self._first_free(found)
        if decision is None:
            near = await self._near_misses(found.name)
            return Decision("unmatched", "match", near_misses=near, text=unmatched_message(near))
        if decision.scenario is not None and decision.scenario.catch_all:
            return decision._replace(fallback=True, near_misses=await self._near_misses(found.name))
        return decision

    async def override(self) -> Decision | None:
        """What answers in place of a computed answer, if a step names the request's path."""
        return await self._first_of(self.index.candidates_naming_path)

    async def recorded(self) -> Decision | None:
        """What answers as it was recorded, where nothing else can."""
        return await self._first_of(self.index.candidates_recorded)

    async def _first_of(self, candidates: Callable[..., Iterator[Candidate]]) -> Decision | None:
        """The first of these, of the scenario alone that a header names."""
        narrowed = scenario_in_header(self.index, self.request)
        name = narrowed.name if isinstance(narrowed, Scenario) else None
        every = candidates(self.request, scenario=name, consumed=self.consumed)
        return await self._first_free(Candidates(name, await self.work(next, every, None), every))

    async def _first_free(self, found: Candidates) -> Decision | None:
        _, candidate, candidates = found
        while candidate is not None:
            decision = await self._try_candidate(candidate, "match")
            if decision is None and self._is_plain(candidate):
                # Others are taking steps at the same moment: seek a free one among many at once.
                decision, candidates = await self._claim_first_free(candidates)
            if decision is not None:
                return decision
            candidate = await self.work(next, candidates, None)
        return None

    async def _claim_first_free(
        self, candidates: Iterator[Candidate]
    ) -> tuple[Decision | None, Iterator[Candidate]]:
        """The answer of the first plain candidate that is free, up to one that is not plain or to
        so many; and the candidates that come after these."""
        plain: list[Candidate] = []
        while len(plain) < CLAIM_BATCH:
            candidate = await self.work(next, candidates, None)
            if candidate is None:
                break
            if not self._is_plain(candidate):
                candidates = chain([candidate], candidates)
                break
            plain.append(candidate)
        place = await self.state.consume_first(self.session, list(map(_ref, plain)))
        if place is None:
            return None, candidates
        return await self._serve_step(plain[place], "match"), candidates

    @staticmethod
    def _is_plain(candidate: Candidate) -> bool:
        """Whether nothing but its being free decides on a candidate's step."""
        scenario, step = candidate.scenario, candidate.step
        expects = scenario.system_prompt_must_include or step.expect != NO_EXPECTATIONS
        return step.consume and not expects and step.failures is None

    async def _try_candidate(self, candidate: Candidate, way: SelectionWay) -> Decision | None:
        """The answer of one candidate; None where its step has been served already.

        Expectations come before failures, and neither consumes; so a step that has either is
        looked up first, so that one that was served does not fail or complain again.
        """
        scenario, step, session = candidate.scenario, candidate.step, self.session
        consumable = step.consume and way == "match"
        expects = scenario.system_prompt_must_include or step.expect != NO_EXPECTATIONS
        violations = violations_of(scenario, step, self.request) if expects else ()
        failures, attempt = step.failures, 0
        ref = _ref(candidate)
        if violations or failures is not None:
            before = await self.state.read(session)
            if consumable and any(_same(ref, served) for served in before.consumed):
                return None
            counted = AttemptRef(ref, self.request.provider)
            attempt = next((n for a, n in before.attempts if _same_attempt(a, counted)), 0)
            if violations:
                await self._record_violations(violations)
                return self._violation_decision(candidate, way, violations, attempt=attempt)
            if failures and await self.state.fail(session, counted, times=failures.times):
                return Decision(
                    "failure",
                    way,
                    scenario,
                    step,
                    attempt=attempt + 1,
                    groups=candidate.groups,
                    fault=failures.fault,
                )
        if consumable and not await self.state.consume(session, ref):
            return None
        return await self._serve_step(candidate, way, attempt=attempt)

    async def _serve_step(
        self, candidate: Candidate, way: SelectionWay, *, attempt: int = 0
    ) -> Decision:
        """The answer of a candidate's step, which is had."""
        return Decision(
            "step",
            way,
            candidate.scenario,
            candidate.step,
            attempt=attempt,
            violations=await self._side_effects(candidate.step),
            groups=candidate.groups,
        )

    def _violation_decision(
        self, candidate: Candidate, way: SelectionWay, violations: tuple[str, ...], *, attempt: int
    ) -> Decision:
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

    async def _side_effects(self, step: Step) -> tuple[str, ...]:
        effects = step.side_effects
        if effects.counter is not None:
            await self.state.count(self.session, effects.counter)
        failed = assert_violations(step, self.request) if effects.asserts else ()
        await self._record_violations(failed)
        return failed

    async def _missing_by_id(self, decision: Decision) -> Decision:
        """A scenario asked for by id that does not exist, or has no step for this turn. What the
        scenario expects of every request goes before that."""
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
        for violation in violations:
            await self.state.violate(self.session, redact_text(violation, self.secrets))

    async def _near_misses(self, name: str | None) -> tuple[NearMiss, ...]:
        served = self.consumed
        return await self.work(near_misses, self.index, self.request, served=served, scenario=name)


def _ref(candidate: Candidate) -> StepRef:
    return StepRef(candidate.scenario.name, candidate.step.key, candidate.step.label)


def _same(one: StepRef, other: StepRef) -> bool:
    # A label may be edited while the step stays the same.
    return one.key == other.key and one.scenario == other.scenario


def _same_attempt(one: AttemptRef, other: AttemptRef) -> bool:
    return one.provider == other.provider and _same(one.step, other.step)


def choose_in_band(call: Call, request: CanonicalRequest, options: Options) -> Decision | None:
    """What an instruction block in the request asks for; raises WireError for a wrong one."""
    if not options.inband or request.model.startswith(BY_ID_MODEL_PREFIX):
        return None
    found = build_instructed_answer(
        request, partial(received, call), max_text_bytes=options.max_text_bytes
    )
    if isinstance(found, ErrorAnswer):
        raise WireError(found.status, found.message, param=found.param)
    if found is None:
        return None
    own, common = found.cancel_after_chunks, options.cancel_after_chunks
    return Decision(
        "in_band",
        "in_band",
        text=found.label,
        scripted=found.answer,
        cancel_after_chunks=common if own is None else own,
    )


def with_cancel(decision: Decision, options: Options) -> Decision:
    """A decision whose stream breaks off where the settings say, if its answer is a generated one.
    A fault that its step scripts goes before."""
    step = decision.step
    if options.cancel_after_chunks is None or decision.kind != "step" or step is None:
        return decision
    generated = isinstance(scripted_answer(step.produce, stream=True), GeneratedAnswer)
    if not generated or step.produce.fault is not None:
        return decision
    return decision._replace(cancel_after_chunks=options.cancel_after_chunks)


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
