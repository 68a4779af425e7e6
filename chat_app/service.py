"""Requirement 002's service: send a message and hear the answer, or cancel it."""

import logging
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.db import Error as DatabaseProblem

from chat_app.errors import SERVICE_UNAVAILABLE, ChatError
from chat_app.loop import on_loop
from chat_app.models import ModelProfile
from chat_app.runs import cancel as cancelling
from chat_app.runs.begin import Begun, Sending, begin
from chat_app.runs.endings import UNAVAILABLE
from chat_app.runs.log_entries import stream_events
from chat_app.runs.registry import open_runs
from chat_app.values.events import RunEvent, StreamEvent, ToolEnded, ToolStarted
from mockllm_site.kit.database_thread import in_database
from traces_app.follow import follow
from traces_app.log import RunLog

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StreamHandle:
    """A run, by the id of its trace. `replayed` says that the message had been sent before."""

    id: UUID
    user_message_id: UUID
    conversation_id: UUID
    replayed: bool = False
    _log: RunLog[RunEvent] | None = field(default=None, repr=False, compare=False)

    def events(self) -> AsyncIterator[StreamEvent]:
        """What the run says from its beginning on; the last is Complete or Error. Of a run that
        another call began it is read from the log's entries, whose results of tools may be cut."""
        return stream_events(follow(self.id)) if self._log is None else _said(self._log)


async def send_message(
    conversation_id: UUID | str | None,
    text: str,
    profile: ModelProfile | None,
    *,
    client_id: str | None = None,
    client_message_id: str | None = None,
) -> StreamHandle:
    """Store a message and have it answered; the answer goes on whoever follows it.

    Without a conversation one is begun for `client_id`; with both, it must be that client's. The
    same `client_message_id` of a client gives the same run again. Raises ChatError, and nothing
    is stored then.
    """
    sending = Sending(
        conversation_id,
        text,
        {"": profile},
        client_id=client_id,
        client_message_id=client_message_id,
    )
    return await _asked(_send(sending))


async def cancel(run: StreamHandle | UUID | str) -> None:
    """End a run as cancelled, with what it has said so far. Raises ChatError: NOT_FOUND, or
    CONFLICT when it has ended already."""
    await _asked(cancelling.cancel(run.id if isinstance(run, StreamHandle) else run))


async def _asked(work: Coroutine[Any, Any, T]) -> T:
    """Have it done on the chat's event loop."""
    try:
        return await on_loop(work)
    except DatabaseProblem as problem:
        log.error("the chat's database failed", exc_info=problem)
        raise ChatError(SERVICE_UNAVAILABLE, UNAVAILABLE) from problem


async def _send(sending: Sending) -> StreamHandle:
    runs = open_runs()
    begun: Begun = await in_database(partial(begin, sending))
    started: list[Any] = [runs.start(opened) for opened in begun.runs]
    return StreamHandle(
        begun.trace_ids[0],
        begun.user_message_id,
        begun.conversation_id,
        replayed=not started,
        _log=started[0].log if started else None,
    )


async def _said(log: RunLog[RunEvent]) -> AsyncIterator[StreamEvent]:
    async for event in log.sources():
        if not isinstance(event, ToolStarted | ToolEnded):
            yield event
