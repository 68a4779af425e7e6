"""The runs that are alive in this process, and who goes first where many messages come at once:
storing them, before answering any of them. All of this happens on the chat's event loop."""

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
from chat_app.runs import metrics as figures
from chat_app.runs.begin import OpenedRun
from chat_app.runs.endings import Stop
from chat_app.runs.run import Run
from chat_app.runs.signal import hear
from mockllm_site.kit.database_thread import in_database
from traces_app import log as logs
from traces_app.leases import RENEW_SECONDS, Renewal, renew_leases
from traces_app.models import Status
from traces_app.recorder import Recorder

log = logging.getLogger(__name__)

# The mock ends its own streams at the end of the time: a run in front of them must not seem to
# have failed by that.
BEFORE_SECONDS = 0.5
# How long answers wait for messages at most. Then they are late themselves.
MOST_SECONDS: Final = 0.5
# Messages with so little between them are some of many.
BETWEEN_SECONDS: Final = 0.01


class Gate:
    """In front of answers: shut while messages come in, and for a moment after some of many. To
    store one takes a fraction of what its answer takes, and a hundred clients want to know that
    theirs has begun before the first of them wants its end."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._coming = 0
        self._came_at = -math.inf
        self._open = asyncio.Event()
        self._open.set()
        self._opening: asyncio.TimerHandle | None = None

    @contextmanager
    def shut(self) -> Iterator[None]:
        """While a message comes in."""
        self._coming += 1
        self._open.clear()
        if self._opening is not None:
            self._opening.cancel()
        try:
            yield
        finally:
            self._coming -= 1
            before, self._came_at = self._came_at, self._loop.time()
            if not self._coming:
                alone = self._came_at - before > BETWEEN_SECONDS
                wait = 0.0 if alone else BETWEEN_SECONDS
                self._opening = self._loop.call_later(wait, self._open.set)

    async def passed(self) -> None:
        """Wait until it opens, or long enough."""
        with suppress(TimeoutError):
            async with asyncio.timeout(MOST_SECONDS):
                await self._open.wait()


class Runs:
    """The runs of one event loop, their recorder, and the renewal of their leases."""

    def __init__(self) -> None:
        self.closing = False
        self._loop = asyncio.get_running_loop()
        self._runs: dict[UUID, Run] = {}
        self._tasks: dict[UUID, asyncio.Task[Status]] = {}
        self._recorder = Recorder(self._lose)
        self.gate = Gate()
        self._renewing: asyncio.Task[None] | None = None
        self._hearing: asyncio.Task[None] | None = None

    @property
    def here(self) -> bool:
        """Whether these are the runs of the running event loop."""
        return self._loop is asyncio.get_running_loop()

    def start(self, opened: OpenedRun) -> Run:
        run = Run(opened, self._recorder, turn=self.gate.passed)
        self._runs[run.id] = run
        logs.register_log(run.id, run.log)
        provider_id = opened.profile.provider_id
        self._tasks[run.id] = asyncio.create_task(self._live(run, provider_id))
        figures.run_started(provider_id)
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew())
        self.hear()
        return run

    def hear(self) -> None:
        """Hear from now on what other processes ask and tell of runs."""
        if self._hearing is None:
            self._hearing = asyncio.create_task(hear(partial(self.stop, why=Stop.CANCELLED)))

    def get(self, trace_id: UUID) -> Run | None:
        return self._runs.get(trace_id)

    async def stop(self, trace_id: UUID, why: Stop) -> Status | None:
        """Stop a run and wait for its end: how it ended, which it may have done already by
        itself. None if it is not alive here."""
        if trace_id not in self._runs:
            return None
        self._runs[trace_id].stop(why)
        return await asyncio.shield(self._tasks[trace_id])

    def close(self) -> None:
        """Begin no more runs, and end those there are as the end of the process does."""
        self.closing = True
        for run in self._runs.values():
            run.stop(Stop.INTERRUPTED)

    async def drain(self, seconds: float) -> None:
        """Let runs finish for so long, then end them; no more are begun."""
        self.closing = True
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=seconds)
        self.close()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _live(self, run: Run, provider_id: str) -> Status:
        status = Status.FAILED
        try:
            status = await run.live()
            return status
        finally:
            figures.run_ended(provider_id, status)
            run.give_up()
            del self._runs[run.id], self._tasks[run.id]
            if not self._runs and self._renewing:
                self._renewing.cancel()
                self._renewing = None

    def _lose(self, trace_id: UUID, problem: Exception | None) -> None:
        if run := self._runs.get(trace_id):
            run.stop(Stop.LOST if problem is None else Stop.UNRECORDED)

    async def _renew(self) -> None:
        """Renew the leases, and learn who is to be cancelled, until it is stopped."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            asked = tuple(self._runs)
            try:
                told = await in_database(partial(renew_leases, asked, now=timezone.now()))
            except Exception:
                log.exception("the leases of %d runs could not be renewed", len(asked))
                continue
            self._heed(told)

    def _heed(self, told: Renewal) -> None:
        for trace_id in told.lost & self._runs.keys():
            self._runs[trace_id].stop(Stop.LOST)
        for trace_id in told.cancelled & self._runs.keys():
            self._runs[trace_id].stop(Stop.CANCELLED)


def end_within(seconds: float) -> None:
    """Have all runs ended in time for their followers to hear of it; also from signal handlers."""
    loop.call_later(max(seconds - BEFORE_SECONDS, 0.0), lambda: runs().close())


_runs: Runs | None = None


def runs() -> Runs:
    """The runs of this event loop, which is the chat's."""
    global _runs
    if _runs is None or not _runs.here:
        _runs = Runs()
    return _runs


def open_runs() -> Runs:
    """The runs, where another one may still be begun."""
    if (here := runs()).closing:
        raise ChatError(SERVICE_UNAVAILABLE, "The server is shutting down")
    return here


async def end_runs() -> None:
    """End what runs on this event loop, as the end of the process does; the next runs are new
    ones."""
    global _runs
    await runs().drain(0.0)
    _runs = None


async def _drain(seconds: float) -> None:
    await runs().drain(seconds)


loop.before_stop(_drain)
