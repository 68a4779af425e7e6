"""The live runs of this process, and a gate that delays answers while messages are being stored.
Everything here runs on the chat's event loop."""

import asyncio
import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final
from uuid import UUID

from django.utils import timezone

from chat_app import loop
from chat_app.errors import SERVICE_UNAVAILABLE, ChatError
from chat_app.runs import metrics
from chat_app.runs.accept import OpenedRun
from chat_app.runs.cancel_channel import listen_for_cancels
from chat_app.runs.endings import StopReason
from chat_app.runs.run import ChatRun
from mockllm_site.kit.database_thread import in_database
from traces_app.leases import RENEW_SECONDS, renew_leases
from traces_app.log import live_logs
from traces_app.models import Status
from traces_app.recorder import Recorder

log = logging.getLogger(__name__)

# The mock ends its own streams at the end of the drain: a run that reads one ends this much
# earlier, so that it does not seem to have failed.
CLOSE_MARGIN_SECONDS = 0.5
# Answers are held back for at most this long.
MAX_HOLD_SECONDS: Final = 0.5
# Messages that arrive within this time of each other are a burst.
BURST_GAP_SECONDS: Final = 0.01


class AnswerGate:
    """Delays answers while messages are being stored, and for a moment after a burst of them, so
    that in a burst all clients learn first that their runs have started."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._incoming = 0
        self._last_arrival = -math.inf
        self._open = asyncio.Event()
        self._open.set()
        self._opening: asyncio.TimerHandle | None = None

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Delay answers while the context is open, in which a message is stored."""
        self._incoming += 1
        self._open.clear()
        if self._opening is not None:
            self._opening.cancel()
        try:
            yield
        finally:
            self._incoming -= 1
            before, self._last_arrival = self._last_arrival, self._loop.time()
            if not self._incoming:
                is_single = self._last_arrival - before > BURST_GAP_SECONDS
                wait = 0.0 if is_single else BURST_GAP_SECONDS
                self._opening = self._loop.call_later(wait, self._open.set)

    async def wait_open(self) -> None:
        """Wait until no message is being stored and a burst of them has ended, so that clients
        first learn that their runs have started; return after MAX_HOLD_SECONDS in any case."""
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_HOLD_SECONDS):
                await self._open.wait()


class RunRegistry:
    """The live runs of one event loop, with their recorder and the renewal of their leases."""

    def __init__(self) -> None:
        self.closing = False
        self.loop = asyncio.get_running_loop()
        self._runs: dict[UUID, ChatRun] = {}
        self._tasks: dict[UUID, asyncio.Task[Status]] = {}
        self._recorder = Recorder(self._stop_lost_run)
        self.gate = AnswerGate()
        self._renewing: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None

    def start(self, opened: OpenedRun) -> ChatRun:
        """Start a stored run in a task, register its log in `live_logs`, and return it."""
        run = ChatRun(opened, self._recorder, wait_for_turn=self.gate.wait_open)
        self._runs[run.id] = run
        live_logs[run.id] = run.log
        provider_id = opened.profile.provider_id
        self._tasks[run.id] = asyncio.create_task(self._execute_and_unregister(run, provider_id))
        metrics.count_run_start(provider_id)
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew_leases_periodically())
        self.listen_for_cancels()
        return run

    def listen_for_cancels(self) -> None:
        """Start to receive the messages of other processes about runs, unless that has begun."""
        if self._listening is None:
            self._listening = asyncio.create_task(
                listen_for_cancels(partial(self.stop, why=StopReason.CANCELLED))
            )

    async def stop(self, trace_id: UUID, why: StopReason) -> Status | None:
        """Stop a run, wait for its end and return its status; None if it is not alive here."""
        if trace_id not in self._runs:
            return None
        self._runs[trace_id].stop(why)
        return await asyncio.shield(self._tasks[trace_id])

    def close(self) -> None:
        """Accept no more runs and interrupt the live ones."""
        self.closing = True
        for run in self._runs.values():
            run.stop(StopReason.INTERRUPTED)

    async def drain(self, seconds: float) -> None:
        """Accept no more runs, let the live ones finish for `seconds`, then interrupt them."""
        self.closing = True
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=seconds)
        self.close()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _execute_and_unregister(self, run: ChatRun, provider_id: str) -> Status:
        """Run to the end and return the status; on errors, too, end the log and remove the run."""
        status = Status.FAILED
        try:
            status = await run.execute()
            return status
        finally:
            metrics.count_run_end(provider_id, status)
            run.abandon()
            del self._runs[run.id], self._tasks[run.id]
            if not self._runs and self._renewing:
                self._renewing.cancel()
                self._renewing = None

    def _stop_lost_run(self, trace_id: UUID, error: Exception | None) -> None:
        """Stop an unrecordable run; without an error, another process ended or deleted it."""
        if run := self._runs.get(trace_id):
            run.stop(StopReason.LOST if error is None else StopReason.UNRECORDED)

    async def _renew_leases_periodically(self) -> None:
        """Renew the leases, and stop lost and cancelled runs, until this task is cancelled."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            trace_ids = tuple(self._runs)
            try:
                owned = await in_database(partial(renew_leases, trace_ids, now=timezone.now()))
            except Exception:
                log.exception("the leases of %d runs could not be renewed", len(trace_ids))
                continue
            for trace_id in self._runs.keys() & trace_ids:
                if trace_id not in owned:
                    self._runs[trace_id].stop(StopReason.LOST)
                elif owned[trace_id]:
                    self._runs[trace_id].stop(StopReason.CANCELLED)


def end_runs_within(seconds: float) -> None:
    """Interrupt all runs shortly before `seconds` have passed; safe in signal handlers."""
    loop.call_later(max(seconds - CLOSE_MARGIN_SECONDS, 0.0), lambda: run_registry().close())


_runs: RunRegistry | None = None


def run_registry() -> RunRegistry:
    """Return the registry of the running event loop, the chat's; create it if it is missing."""
    global _runs
    if _runs is None or _runs.loop is not asyncio.get_running_loop():
        _runs = RunRegistry()
    return _runs


def accepting_registry() -> RunRegistry:
    """Return the registry; raises ChatError while the server shuts down."""
    registry = run_registry()
    if registry.closing:
        raise ChatError(SERVICE_UNAVAILABLE, "The server is shutting down")
    return registry


async def end_runs() -> None:
    """Interrupt all runs of this event loop; the next run gets a new registry."""
    global _runs
    await run_registry().drain(0.0)
    _runs = None


loop.register_drain(lambda seconds: run_registry().drain(seconds))
