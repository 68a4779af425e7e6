"""Requirement 002's service: send a message and hear the answer, or cancel it, in this process or
in the one that has it."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.db import Error as DatabaseProblem

from chat_app.conversations import as_uuid
from chat_app.errors import CONFLICT, NOT_FOUND, SERVICE_UNAVAILABLE, ChatError
from chat_app.loop import on_loop
from chat_app.models import ModelProfile
from chat_app.profiles import Named
from chat_app.runs.begin import Begun, Sending, begin
from chat_app.runs.endings import UNAVAILABLE, Stop
from chat_app.runs.registry import open_runs, runs
from chat_app.runs.signal import ask_to_cancel, told_of_end
from chat_app.values.events import (
    Complete,
    Error,
    RunEvent,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolEnded,
    ToolResult,
    ToolStarted,
)
from mockllm_site.kit.database_thread import in_database
from mockllm_site.kit.testcase import OpenTestTransaction
from traces_app.follow import follow
from traces_app.leases import current_status
from traces_app.log import LoggedEvent, RunLog
from traces_app.models import Status, Trace

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
        return _stream_events(self.logged()) if self._log is None else _said(self._log)

    def logged(self) -> AsyncGenerator[LoggedEvent, None]:
        """The run's numbered events, from the first to the last."""
        return follow(self.id) if self._log is None else self._log.follow()


async def send_message(
    conversation_id: UUID | str | None,
    text: str,
    profile: ModelProfile | Named | None,
    *,
    client_id: str | None = None,
    client_message_id: str | None = None,
) -> StreamHandle:
    """Store a message and have it answered; the answer goes on, followed or not.

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
    await _asked(_cancelled(run.id if isinstance(run, StreamHandle) else run))


async def _asked(work: Coroutine[Any, Any, T]) -> T:
    """Have it done on the chat's event loop."""
    try:
        return await on_loop(work)
    except OpenTestTransaction as error:
        raise ChatError(SERVICE_UNAVAILABLE, str(error)) from error
    except DatabaseProblem as problem:
        log.error("the chat's database failed", exc_info=problem)
        raise ChatError(SERVICE_UNAVAILABLE, UNAVAILABLE) from problem


async def _send(sending: Sending) -> StreamHandle:
    runs = open_runs()
    with runs.gate.shut():
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


async def _stream_events(log: AsyncIterator[LoggedEvent]) -> AsyncIterator[StreamEvent]:
    """The events that a log amounts to; results of tools are as long as it keeps them."""
    text: list[str] = []
    thinking: list[str] = []
    calls: list[ToolCall] = []
    async for logged in log:
        said = logged.payload
        match logged.type:
            case "chunk":
                text.append(said["content"])
                yield TextDelta(said["content"])
            case "thinking":
                thinking.append(said["content"])
                yield ThinkingDelta(said["content"])
            case "tool_start":
                calls.append(call := _call(logged))
                yield ToolCallStart(call.id, call.name)
                yield ToolCallDelta(call.id, call.arguments)
            case "tool_output":
                yield ToolResult(
                    said["tool_call_id"],
                    said["output"],
                    is_error=said["is_error"],
                    code=said["code"],
                )
            case "done":
                yield Complete("".join(text), "".join(thinking) or None, tuple(calls))
            case "error":
                yield Error(said["message"], said["code"])


def _call(start: LoggedEvent) -> ToolCall:
    arguments = start.payload["tool_args"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(start.payload["tool_call_id"], start.payload["tool_name"], text)


# How soon it is looked whether another process has cancelled its run, where that does not say so
# before; each time it takes twice as long, up to the other one.
FIRST_LOOK_SECONDS, POLL_SECONDS = 0.01, 0.1


async def _cancelled(run_id: Any) -> None:
    """Have the run cancelled, and wait until it is; on the chat's event loop."""
    trace_id = as_uuid(run_id)
    if trace_id is None:
        raise _unknown()
    status = await runs().stop(trace_id, Stop.CANCELLED) or await _elsewhere(trace_id)
    if status != Status.CANCELLED:
        raise _ended()


async def _elsewhere(trace_id: UUID) -> str:
    """Ask the process that has the run; it, or its death, ends the run."""
    owner = await in_database(partial(_ask, trace_id))
    if owner is None:
        raise _ended()
    runs().hear()
    pause = FIRST_LOOK_SECONDS
    with told_of_end(trace_id) as ended:
        await ask_to_cancel(owner, trace_id)
        while (status := await in_database(partial(_status, trace_id))) == Status.RUNNING:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await ended.wait()
            ended.clear()
            pause = min(2 * pause, POLL_SECONDS)
    return status


def _ask(trace_id: UUID) -> str | None:
    """Leave word for the run's process: which it is, None if the run has ended."""
    if _status(trace_id) != Status.RUNNING:
        return None
    running = Trace.objects.filter(pk=trace_id, status=Status.RUNNING)
    running.update(cancel_requested=True)
    return running.values_list("owner", flat=True).first()


def _status(trace_id: UUID) -> str:
    status = current_status(trace_id)
    if status is None:
        raise _unknown()
    return status


def _ended() -> ChatError:
    return ChatError(CONFLICT, "The answer has ended already", field="trace_id")


def _unknown() -> ChatError:
    return ChatError(NOT_FOUND, "Run not found", field="trace_id")
