"""A run while it is alive: it reads its answer, logs what that says, and ends in one way."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Final, Protocol, TypeAlias
from uuid import UUID, uuid4

from django.conf import settings

from chat_app.runs import log_entries as entries
from chat_app.runs.answer import Answer, AnswerEvent
from chat_app.runs.begin import OpenedRun
from chat_app.runs.endings import DELETED, ENDED_BY_PROCESS, UNRECORDED, End, Stop, columns, end_of
from chat_app.runs.endings import failed as failed_end
from chat_app.runs.prompt import keep_state
from chat_app.runs.store import StoredAnswer, store_answer
from chat_app.values.events import RunEvent
from mockllm_site.kit.database_thread import in_database
from traces_app.log import LoggedEvent, RunLog, unregister_log
from traces_app.models import ModelCall, Status, Trace
from traces_app.recorder import PendingRecords, Recorder, RunEnding, finish_run

log = logging.getLogger(__name__)

# How long an answer that is cut short may take to let go of its provider and its tools.
LETTING_GO_SECONDS: Final = 5.0
# Before the end is tried to be stored once more, while the database refuses it.
RETRY_SECONDS: Final = (0.0, 0.2, 1.0)


class Timer(Protocol):
    def cancel(self) -> None: ...


# Has something called so many seconds later, as an event loop's `call_later` does.
Later: TypeAlias = Callable[[float, Callable[[], None]], Timer]
# Waits until the answer may begin.
Turn: TypeAlias = Callable[[], Awaitable[None]]


class Run:
    """One run, from its first event, which is stored already, to its terminal one. The clock of
    its time limit is the event loop's unless another is given."""

    def __init__(
        self,
        opened: OpenedRun,
        recorder: Recorder,
        *,
        turn: Turn = lambda: asyncio.sleep(0),
        later: Later | None = None,
    ) -> None:
        self.id = opened.trace_id
        self.log: RunLog[RunEvent] = RunLog()
        self._opened = opened
        self._recorder = recorder
        self._turn = turn
        self._stopped: Stop | None = None
        self._told = asyncio.Event()
        self._silent = False
        self._pending: PendingRecords | None = None
        self._answer = Answer(opened)
        self.log.publish(opened.started)
        self._task = asyncio.create_task(self._read())
        later = later or asyncio.get_running_loop().call_later
        self._alarm = later(settings.CHAT_RUN_SECONDS, partial(self.stop, Stop.OUT_OF_TIME))

    def stop(self, why: Stop) -> None:
        """Cut the answer short, unless it is being stored; the first reason counts."""
        if self._stopped is None and self._pending is None:
            self._stopped = why
            self._told.set()
            self._task.cancel()

    async def live(self) -> Status:
        """Answer, and end in one way, told only once it is stored; which way it was."""
        try:
            await self._answered()
        finally:
            self._alarm.cancel()
        for event in self._answer.rest():
            self._take(event)
        self._silent = True
        self._pending = await self._recorder.take_pending(self.id)
        if self._stopped is Stop.LOST:
            return await self._adopt()
        return await self._end(end_of(self._stopped, self._problem()))

    def give_up(self) -> None:
        """Let no follower wait for an end that will not come."""
        self._silent = True
        self._alarm.cancel()
        self._task.cancel()
        if not self.log.ended:
            self._publish(ENDED_BY_PROCESS, self._terminal(ENDED_BY_PROCESS, None))

    async def _answered(self) -> None:
        told = asyncio.create_task(self._told.wait())
        await asyncio.wait({self._task, told}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        _, left = await asyncio.wait({self._task}, timeout=LETTING_GO_SECONDS)
        if left:
            log.error("run %s does not let go of what it waits for", self.id)

    def _problem(self) -> BaseException | None:
        if not self._task.done() or self._task.cancelled():
            return asyncio.CancelledError()
        return self._task.exception()

    async def _read(self) -> None:
        """Take what the answer yields, up to its end; raises what ends it."""
        await self._turn()
        async with aclosing(self._answer.events()) as events:
            async for event in events:
                self._take(event)

    def _take(self, event: AnswerEvent) -> None:
        """Log what is said, and have it recorded; a run that has ended takes no more."""
        if self._silent:
            return
        if isinstance(event, ModelCall):
            self._recorder.record_call(self.id, event)
            return
        entry = entries.entry_of(event, self._opened.conversation_id)
        if entry is None:
            self.log.publish_source(event)
            return
        logged = self.log.next_event(*entry)
        self.log.publish(logged, event)
        self._recorder.record(self.id, logged)

    async def _end(self, end: End) -> Status:
        """Store the end. What cannot be stored as it should be fails; what cannot be stored at
        all is left to the process that finds the lease over, which says the same."""
        for pause in RETRY_SECONDS:
            await asyncio.sleep(pause)
            try:
                return await self._store(end)
            except Exception:
                log.exception("the end of run %s could not be stored", self.id)
            if end.status == Status.COMPLETED:
                end = UNRECORDED
        try:
            # In case it is the answer that the database refuses.
            return await self._store(UNRECORDED, with_answer=False)
        except Exception:
            log.exception("run %s ends unstored", self.id)
        return self._publish(ENDED_BY_PROCESS, self._terminal(ENDED_BY_PROCESS, None))

    async def _store(self, end: End, *, with_answer: bool = True) -> Status:
        answer = self._stored_answer(end)
        kept = with_answer and not (end.error and answer.empty)
        message_id = uuid4() if kept else None
        calls = self._answer.calls.rows
        ending = RunEnding(
            columns(end, calls, tool_calls=len(self._answer.tools.rows))
            | {"message_id": message_id},
            self._terminal(end, message_id),
            partial(self._keep, end, answer, message_id=message_id),
        )
        if await finish_run(self.id, self._pending or PendingRecords(), ending=ending):
            return self._publish(end, ending.event)
        return await self._adopt()

    def _keep(self, end: End, answer: StoredAnswer, *, message_id: UUID | None) -> None:
        """What is stored beside the trace; in the database's thread."""
        if message_id is not None:
            store_answer(answer, message_id=message_id)
        prompt = self._answer.prompt
        if end.status == Status.COMPLETED and prompt is not None and prompt.changed:
            keep_state(answer.conversation_id, prompt.state)

    async def _adopt(self) -> Status:
        """End as it was ended elsewhere."""
        end = DELETED
        try:
            trace = await in_database(Trace.objects.filter(pk=self.id).first)
        except Exception:
            log.exception("run %s: its end could not be read", self.id)
            end = ENDED_BY_PROCESS
        else:
            if trace is not None:
                end = failed_end(trace.code, trace.error) if trace.code else ENDED_BY_PROCESS
        return self._publish(end, self._terminal(end, None))

    def _terminal(self, end: End, message_id: UUID | None) -> LoggedEvent:
        if end.error is not None:
            return self.log.next_event(*entries.error(end.error))
        assert message_id is not None
        return self.log.next_event(
            *entries.done(
                self._opened.conversation_id,
                self.id,
                message_id=message_id,
                cancelled=end.status == Status.CANCELLED,
            )
        )

    def _publish(self, end: End, event: LoggedEvent) -> Status:
        # The end is stored, here or elsewhere: followers from now on read what is stored.
        unregister_log(self.id)
        self.log.publish(event, end.error or self._answer.pipeline.complete())
        return end.status

    def _stored_answer(self, end: End) -> StoredAnswer:
        said = self._answer.pipeline.complete()
        return StoredAnswer(
            conversation_id=self._opened.conversation_id,
            client_id=self._opened.client_id,
            status=end.message_status,
            text=said.text,
            thinking=said.thinking or "",
            provider_id=self._opened.profile.provider_id,
            model_id=self._opened.profile.model_id,
            branch=self._opened.branch,
            rounds=self._answer.rounds,
            tool_calls=list(self._answer.tools.rows.values()),
        )
