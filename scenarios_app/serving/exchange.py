"""One call from its arrival to its journal entry: what is known of it, as it becomes known."""

import time
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias
from uuid import uuid4

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.matching.near_misses import NearMiss
from scenarios_app.engine.producing.seed import Seed, make_seed
from scenarios_app.journal.entry import JournalEntry
from scenarios_app.serving.choose import Chosen
from scenarios_app.serving.playback import Sent
from scenarios_app.serving.respond import Speaker
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import Target

Outcome: TypeAlias = Literal["complete", "client_gone", "fault", "unmatched"]


@dataclass(slots=True)
class Exchange:
    """Until the request is counted its `ordinal` in the session is 0."""

    call: Call
    target: Target
    created: int
    max_text_bytes: int
    words_per_second: float
    session: str
    ordinal: int = 0
    request: CanonicalRequest | None = None
    chosen: Chosen | None = None
    computed: bool = False
    streaming: bool = False
    uid: str = field(default_factory=lambda: str(uuid4()))
    at: float = field(default_factory=time.time)
    began: float = field(default_factory=time.monotonic)
    chosen_at: float | None = None
    _body_bytes: int | None = None
    _seed: Seed | None = None

    @property
    def answered_by(self) -> tuple[str, str]:
        """The names of the scenario and the step, empty where there is none."""
        if self._in_band:
            return "", self.chosen.text if self.chosen else ""
        decision = self.chosen.decision if self.chosen else None
        scenario = decision.scenario.name if decision and decision.scenario else ""
        return scenario, decision.step.label if decision and decision.step else ""

    @property
    def violations(self) -> tuple[str, ...]:
        return self.chosen.decision.violations if self.chosen else ()

    @property
    def _in_band(self) -> bool:
        return self.chosen is not None and self.chosen.kind == "in_band"

    def speaker(self) -> Speaker:
        """Who answers, as of what is known by now."""
        call = self.call
        seed = self._seed or make_seed(
            self.session, call.method, call.path, call.body, self.ordinal
        )
        return Speaker(
            self.target.wire,
            seed,
            created=self.created,
            max_text_bytes=self.max_text_bytes,
            words_per_second=self.words_per_second,
        )

    def forget(self, *, beyond: int) -> None:
        """Give up the memory of a request that is answered, but for so much of its body."""
        call = self.call
        if len(call.body) > beyond:
            self._seed, self._body_bytes = self.speaker().seed, len(call.body)
            self.call = replace(call, body=call.body[:beyond])
            if self.request is not None:
                self.request = replace(self.request, messages=(), extra={})

    def choose(self, chosen: Chosen) -> None:
        self.chosen = chosen
        self.chosen_at = time.monotonic()

    def entry(self, sent: Sent) -> JournalEntry:
        """What the journal keeps of a call whose answer has ended."""
        request, chosen = self.request, self.chosen
        decision = chosen.decision if chosen else None
        step = decision.step if decision else None
        scenario_name, step_label = self.answered_by
        ended = time.monotonic()
        marks = {
            "chosen_ms": self.chosen_at,
            "head_ms": sent.first_at,
        }
        return JournalEntry(
            uid=self.uid,
            at=self.at,
            session=self.session,
            method=self.call.method,
            path=self.call.path,
            status=sent.reply.status,
            outcome=self._outcome(sent),
            duration_ms=_ms(ended - self.began),
            provider=self.target.wire.provider,
            query=self.call.query,
            model=request.model if request else "",
            streamed=sent.reply.streaming,
            scenario=scenario_name,
            step=step_label,
            step_key=step.key if step else "",
            way=chosen.way if chosen else "",
            matched=self.computed or self._in_band or bool(decision and decision.scenario),
            fallback=bool(decision and decision.fallback),
            attempt=decision.attempt if decision and step and step.failures else None,
            fault=self._fault(),
            violations=self.violations,
            near_misses=_plain(decision.near_misses) if decision else (),
            timings={k: _ms(at - self.began) for k, at in marks.items() if at is not None},
            request_headers=self.call.headers,
            request_body=self.call.body,
            request_bytes=self._body_bytes,
            response_headers=sent.reply.headers if sent.reply.started else (),
            response_body=sent.body,
            response_bytes=sent.size,
        )

    def _outcome(self, sent: Sent) -> Outcome:
        if sent.gone:
            return "client_gone"
        if sent.early or self._fault():
            return "fault"
        if self.chosen and self.chosen.kind == "unmatched":
            return "unmatched"
        return "complete"

    def _fault(self) -> str:
        """The kind of the fault that was acted out."""
        chosen = self.chosen
        if chosen is None:
            return ""
        stream = self.request is not None and self.request.stream
        if fault := chosen.fault or chosen.cancel(stream=stream):
            return fault.kind
        step = chosen.decision.step if chosen.kind == "step" else None
        return step.produce.fault.kind if step and step.produce.fault else ""


def _plain(near: tuple[NearMiss, ...]) -> list[Json]:
    return [
        {
            "scenario": miss.scenario.name,
            "step": miss.step.label,
            "mismatches": [
                {"field": m.field, "expected": m.expected, "actual": m.actual}
                for m in miss.mismatches
            ],
        }
        for miss in near
    ]


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
