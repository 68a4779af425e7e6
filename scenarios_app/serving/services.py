"""Builds the services of one process: made once, started in the ASGI lifespan or at first use, and
checked with a built-in step for /healthz and warming up."""

import asyncio
import json
import logging
import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Protocol

from mockllm_site.kit.settings_table import SETTINGS
from mockllm_site.kit.testcase import running_connection
from scenarios_app.catalog import catalog
from scenarios_app.catalog.snapshot import can_be_shared
from scenarios_app.cluster import redis_connections
from scenarios_app.conf import admin_cookies, setting
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.recorded import MAX_BODY_BYTES
from scenarios_app.engine.journal_entry import RawEntry
from scenarios_app.engine.matching.index import Index, build_index
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.parts import TextPart
from scenarios_app.engine.scenario import Produce, Scenario, ScriptedAnswer, ScriptedChoice, Step
from scenarios_app.journal import AnswerRecord, RecordSource, journal
from scenarios_app.recording.upstreams import read_upstreams
from scenarios_app.serving.cluster import Cluster
from scenarios_app.serving.metrics import AnswerLabels, Tally, labels_of
from scenarios_app.serving.options import Options
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.signals import services_starting
from scenarios_app.verdict.metrics import StepCounts
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Limits

if TYPE_CHECKING:
    from scenarios_app.cluster.connections import Connections
    from scenarios_app.cluster.state import RedisState

log = logging.getLogger(__name__)

MAX_DRIFTS = 10_000


class StepAnswer(AnswerRecord, Protocol):
    """A complete answer of a step, which is the scenario's name and the step's key. Its head was
    sent at its end."""

    @property
    def labels(self) -> AnswerLabels: ...
    @property
    def duration_ms(self) -> float: ...
    @property
    def step(self) -> tuple[str, str]: ...


class Services:
    """The process's pipeline with its state, cluster and counters. Starts, drains and stops them;
    counts each answer and hands it to the journal."""

    def __init__(self) -> None:
        shared = redis_connections()
        self.state = _build_state(shared)
        self._tally = Tally()
        self._steps = StepCounts()
        self.cluster = Cluster(lambda: self.steps, self.state.drop_cached_scenarios)
        # The drift reports of ended recordings, as the control API shows them.
        self.drifts: deque[dict[str, Json]] = deque(maxlen=MAX_DRIFTS)
        self.pipeline = Pipeline(
            catalog=catalog,
            state=self.state,
            options=options(),
            record=self._record,
            drain_at=lambda: self._drain_at,
            catch_up=None if shared is None else catalog.catch_up,
            unmatched_note=_file_problems_note,
        )
        self.started = False
        self._drain_at = math.inf
        self._sources: list[RecordSource] = []
        journal.sources.add(self)

    @property
    def tally(self) -> Tally:
        """Return the counts of all answers so far."""
        self.hand_over_records()
        return self._tally

    @property
    def steps(self) -> StepCounts:
        """Return the counts of all steps that have answered so far."""
        self.hand_over_records()
        return self._steps

    @property
    def ready(self) -> bool:
        """Return whether new requests are accepted."""
        return self.started and self._drain_at == math.inf

    async def start(self) -> None:
        """Compile the scenarios and everything that a first request would have to wait for. Raises
        RuntimeError if the built-in step does not answer."""
        catalog.start()
        await asyncio.to_thread(self.cluster.start)
        journal.unread = not can_be_shared()
        if not journal.unread:
            journal.start()
        problem = await play_built_in(self.pipeline.options)
        if problem:
            raise RuntimeError(f"the built-in step does not play: {problem}")
        self.started = True

    def stop(self) -> None:
        """Write the journal's waiting entries, and stop the services."""
        self.started = False
        catalog.stop()
        self.hand_over_records()
        journal.stop()
        self.cluster.stop()

    def use_running_loop(self) -> None:
        """Use asynchronous shared connections on the running event loop from now on."""
        if shared := redis_connections():
            shared.use_running_loop()

    async def release_loop(self) -> None:
        """Close the shared connections of the running event loop, before it ends."""
        if shared := redis_connections():
            await shared.release_loop()

    def drain(self, seconds: float) -> None:
        """Give running answers this many seconds to finish."""
        self._drain_at = min(self._drain_at, time.monotonic() + seconds)

    def add_source(self, source: RecordSource) -> None:
        """Add a source of answers. It calls `record_all` when it is asked to hand over, which
        happens before anything is read or recorded."""
        self._sources.append(source)

    def hand_over_records(self) -> None:
        """Ask the sources for all answers so far."""
        for source in self._sources:
            source.hand_over_records()

    def record_all(self, answers: Sequence[StepAnswer]) -> None:
        """Count answers and hand them to the journal, which makes their entries later."""
        for answer in answers:
            self._tally.count(answer.labels, answer.duration_ms, answer.duration_ms)
            self._steps.count_answer(answer.session, answer.step, fault="", refused=False)
        journal.record_all(answers)

    def _record(self, entry: RawEntry) -> None:
        """Count and journal an entry."""
        self.hand_over_records()
        self._count_entry(entry)
        journal.record(entry)

    def _count_entry(self, entry: RawEntry) -> None:
        """Count an answer in the metrics and in the coverage of steps."""
        self._tally.count(labels_of(entry), entry.duration_ms, entry.timings.get("head_ms"))
        self._steps.count_answer(
            entry.session,
            (entry.scenario, entry.step_key),
            fault=entry.fault,
            refused=bool(entry.violations) and entry.status == 400,
        )


def _file_problems_note() -> str:
    """Return a sentence about broken scenario files for unmatched requests; empty without any."""
    problems = catalog.file_problems
    if not problems:
        return ""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"A scenario file has an error, so its changes are not loaded: {problems[0]}{more}"


def _build_state(shared: "Connections | None") -> "MemoryState | RedisState":
    """Return the store of session state: in Redis if there are shared connections, else in
    memory."""
    max_sessions: int = setting("MOCKLLM_MAX_SESSIONS")
    if shared is None:
        return MemoryState(max_sessions)
    # Imported late, like the Redis client.
    from scenarios_app.cluster.state import RedisState

    return RedisState(shared, max_sessions)


@cache
def services() -> Services:
    """Return the services of this process, created at the first call."""
    return Services()


def pipeline_now() -> Pipeline | None:
    """Return the pipeline of this process, or None before it is started."""
    here = services()
    return here.pipeline if here.started else None


async def running_pipeline() -> Pipeline:
    """Return the pipeline of this process, and start it at the first call.

    Inside a test case's transaction nothing is started: its rows are read through its own
    connection, and another connection would wait for it forever.
    """
    here = services()
    if not here.started and running_connection() is None:
        try:
            services_starting.send(sender=Services)
            await here.start()
        except Exception:
            # The pipeline then answers with the error, in the envelope of the path.
            log.exception("the services could not be started")
    return here.pipeline


def options() -> Options:
    """Return the pipeline's options from the settings of the same names, with MOCKLLM_ before."""
    names = {field.name: f"MOCKLLM_{field.name.upper()}" for field in fields(Options)}
    values = {field: setting(name) for field, name in names.items() if name in SETTINGS}
    clock = setting("MOCKLLM_CLOCK")
    return Options(
        **values
        | {
            "clock": None if clock is None else int(datetime.fromisoformat(clock).timestamp()),
            "limits": Limits(
                depth=setting("MOCKLLM_MAX_JSON_DEPTH"),
                nodes=setting("MOCKLLM_MAX_JSON_NODES"),
                messages=setting("MOCKLLM_MAX_MESSAGES"),
            ),
            "upstreams": read_upstreams(values["upstreams"]),
            "admin_cookies": admin_cookies(),
            # Larger bodies could not be loaded again.
            "record_bytes": min(values["record_bytes"], MAX_BODY_BYTES),
        }
    )


TEXT = "healthy"
HEADERS = {"authorization": "Bearer healthz", "anthropic-version": "2023-06-01"}
PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")


class _BuiltIn:
    """A catalog of one scenario, whose only step answers the requests of the health check."""

    def __init__(self) -> None:
        answer = ScriptedAnswer(choices=(ScriptedChoice((TextPart(TEXT),)),))
        step = Step("healthz", "1", produce=Produce(streaming=answer, non_streaming=answer))
        self._index = build_index([Scenario("healthz", (step,))])

    def index_for(self, documents: Mapping[str, Json], version: int) -> Index:
        return self._index


BUILT_IN = _BuiltIn()


async def play_built_in(options: Options) -> str | None:
    """Return an error text if the built-in step is not played correctly, else None. State and
    journal are not touched."""
    for path in PATHS:
        for stream in (False, True):
            pipeline = Pipeline(catalog=BUILT_IN, state=MemoryState(), options=options)
            try:
                answer = await pipeline.answer(_call(path, stream=stream))
                body = b"".join([piece async for piece in answer.pieces()])
            except Exception as error:
                return f"{path}: {type(error).__name__}: {error}"
            if answer.reply.status != 200 or TEXT.encode() not in body:
                return f"{path}: status {answer.reply.status}"
    return None


def _call(path: str, *, stream: bool) -> Call:
    """Return a request of the health check, which the built-in step answers."""
    messages = [{"role": "user", "content": "Are you there?"}]
    body = {"model": "healthz", "max_tokens": 1, "messages": messages, "stream": stream}
    return Call("POST", path, {}, HEADERS, json.dumps(body).encode())
