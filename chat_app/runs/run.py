"""A live run: reads the answer's events, logs and records them, and stores the end."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Any, Final
from uuid import UUID, uuid4

from django.conf import settings

from chat_app.conversations import append_message
from chat_app.models import Conversation, Sender
from chat_app.runs import endings, log_entries
from chat_app.runs.accept import OpenedRun
from chat_app.runs.answer import AnswerEvent, AnswerGenerator
from chat_app.runs.prompt import store_summary
from chat_app.runs.store import is_empty
from chat_app.values.events import RunEvent
from mockllm_site.kit.database_thread import in_database
from traces_app.log import LoggedEvent, RunLog, live_logs
from traces_app.models import ModelCall, Status, Trace
from traces_app.recorder import PendingRecords, Recorder, finish_run

log = logging.getLogger(__name__)

# A stopped answer may take this long to close its provider and its tools.
RELEASE_SECONDS: Final = 5.0
# Pauses before the attempts to store the end.
RETRY_SECONDS: Final = (0.0, 0.2, 1.0)


class ChatRun:
    """One run, from its first event, which is stored already, to its terminal one. `wait_for_turn`
    returns when the answer may start; `call_later` schedules the time limit, by default on the
    event loop."""

    def __init__(
        self,
        opened: OpenedRun,
        recorder: Recorder,
        *,
        wait_for_turn: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0),
        call_later: Callable[..., Any] | None = None,
    ) -> None:
        self.id = opened.trace.pk
        self.log: RunLog[RunEvent] = RunLog()
        self._opened = opened
        self._recorder = recorder
        self._wait_for_turn = wait_for_turn
        self._stop_reason: endings.StopReason | None = None
        self._stop_requested = asyncio.Event()
        self._closed = False
        self._pending: PendingRecords | None = None
        self._generator = AnswerGenerator(opened)
        self.log.publish(opened.started)
        self._task = asyncio.create_task(self._read_answer())
        call_later = call_later or asyncio.get_running_loop().call_later
        self._time_limit = call_later(
            settings.CHAT_RUN_SECONDS, partial(self.stop, endings.StopReason.OUT_OF_TIME)
        )

    def stop(self, reason: endings.StopReason) -> None:
        """Stop the answer, unless it is being stored; the first reason counts."""
        if self._stop_reason is None and self._pending is None:
            self._stop_reason = reason
            self._stop_requested.set()
            self._task.cancel()

    async def execute(self) -> Status:
        """Answer, store the end, publish the terminal event; return the final status."""
        try:
            await self._wait_for_answer()
        finally:
            self._time_limit.cancel()
        for event in self._generator.remaining_events():
            self._record(event)
        self._closed = True
        self._pending = await self._recorder.take_pending(self.id)
        if self._stop_reason is endings.StopReason.LOST:
            return await self._publish_stored_end()
        return await self._end_with_retries(
            endings.choose_end(self._stop_reason, self._task_error())
        )

    def abandon(self) -> None:
        """Cancel the answer, and end the log if it has no end yet, so that no follower waits."""
        self._closed = True
        self._time_limit.cancel()
        self._task.cancel()
        if not self.log.ended:
            self._publish_end(endings.ENDED_BY_PROCESS)

    async def _wait_for_answer(self) -> None:
        """Wait until the answer is complete or a stop is requested; then release the provider and
        tools."""
        stop_requested = asyncio.create_task(self._stop_requested.wait())
        await asyncio.wait({self._task, stop_requested}, return_when=asyncio.FIRST_COMPLETED)
        stop_requested.cancel()
        _, unfinished = await asyncio.wait({self._task}, timeout=RELEASE_SECONDS)
        if unfinished:
            log.error("run %s did not close its provider and tools in time", self.id)

    def _task_error(self) -> BaseException | None:
        """Return the error of the answer's task, or None; CancelledError if it is not done."""
        if not self._task.done() or self._task.cancelled():
            return asyncio.CancelledError()
        return self._task.exception()

    async def _read_answer(self) -> None:
        """Record all events of the answer; raises the error that ends it."""
        await self._wait_for_turn()
        async with aclosing(self._generator.events()) as events:
            async for event in events:
                self._record(event)

    def _record(self, event: AnswerEvent) -> None:
        """Log an event and queue it for the database; a closed run ignores it."""
        if self._closed:
            return
        if isinstance(event, ModelCall):
            self._recorder.record_call(self.id, event)
            return
        entry = log_entries.entry_of(event, self._opened.trace.conversation_id)
        if entry is None:
            self.log.publish_source(event)
            return
        logged = self.log.next_event(*entry)
        self.log.publish(logged, event)
        self._recorder.record(self.id, logged)

    async def _end_with_retries(self, end: endings.RunEnd) -> Status:
        """Store the end, with retries; a completed run that cannot be stored becomes a failed one.
        If nothing can be stored, the process that finds the lease expired ends the run."""
        for pause in RETRY_SECONDS:
            await asyncio.sleep(pause)
            try:
                return await self._store_and_publish_end(end)
            except Exception:
                log.exception("the end of run %s could not be stored", self.id)
            if end.status == Status.COMPLETED:
                end = endings.UNRECORDED
        try:
            # Without the answer, in case the database refuses that.
            return await self._store_and_publish_end(endings.UNRECORDED, with_answer=False)
        except Exception:
            log.exception("run %s: its end is not stored", self.id)
        return self._publish_end(endings.ENDED_BY_PROCESS)

    async def _store_and_publish_end(
        self, end: endings.RunEnd, *, with_answer: bool = True
    ) -> Status:
        """Store the answer and the end in one transaction and publish the end, or the one that
        another process has stored; return the published status. Raises errors of the database."""
        answer = self._answer_columns(end)
        stores_answer = with_answer and not (end.error and is_empty(answer))
        message_id = uuid4() if stores_answer else None
        calls, tools = self._generator.calls.rows, self._generator.tools.rows
        columns = endings.trace_columns(end, calls, tool_calls=len(tools))
        event = self._terminal_event(end, message_id)

        def store_rows() -> None:
            """Store the answer's message and, for a completed run, the changed summary."""
            message, prompt = self._opened.message, self._generator.prompt
            conversation_id, client_id = message.conversation_id, message.client_id
            if message_id is not None:
                conversation = Conversation(pk=conversation_id, client_id=client_id)
                append_message(conversation, Sender.ASSISTANT, id=message_id, **answer)
            if end.status == Status.COMPLETED and prompt is not None and prompt.changed:
                store_summary(conversation_id, prompt.plan.state)

        pending = self._pending or PendingRecords()
        columns["message_id"] = message_id
        if await finish_run(self.id, pending, columns=columns, event=event, store=store_rows):
            return self._publish_end(end, event)
        return await self._publish_stored_end()

    async def _publish_stored_end(self) -> Status:
        """Publish the error that another process stored, or that the run was deleted or
        interrupted."""
        end = endings.ENDED_BY_PROCESS
        try:
            trace = await in_database(Trace.objects.filter(pk=self.id).first)
        except Exception:
            log.exception("run %s: its end could not be read", self.id)
        else:
            if trace is None:
                end = endings.DELETED
            elif trace.code:
                end = endings.failed_end(trace.code, trace.error)
        return self._publish_end(end)

    def _terminal_event(self, end: endings.RunEnd, message_id: UUID | None) -> LoggedEvent:
        """Return the run's last event, `done` or `error`, not published yet."""
        if end.error is not None:
            return self.log.next_event(*log_entries.error_entry(end.error))
        assert message_id is not None
        return self.log.next_event(
            *log_entries.done_entry(
                self._opened.trace.conversation_id,
                self.id,
                message_id=message_id,
                cancelled=end.status == Status.CANCELLED,
            )
        )

    def _publish_end(self, end: endings.RunEnd, event: LoggedEvent | None = None) -> Status:
        """Publish `event`, by default the error of a failed `end`; remove the live log and return
        the status of `end`."""
        event = event or self._terminal_event(end, None)
        # The end is stored: followers read the rows from now on.
        live_logs.pop(self.id, None)
        self.log.publish(event, end.error or self._generator.pipeline.complete())
        return end.status

    def _answer_columns(self, end: endings.RunEnd) -> dict[str, Any]:
        """Return the columns of the message that the answer is stored as."""
        complete, profile = self._generator.pipeline.complete(), self._opened.profile
        return {
            "content": complete.text,
            "thinking": complete.thinking or "",
            "rounds": self._generator.rounds,
            "tool_calls": list(self._generator.tools.rows.values()),
            "status": end.message_status,
            "provider_id": profile.provider_id,
            "model_id": profile.model_id,
            "branch": self._opened.trace.branch,
        }
