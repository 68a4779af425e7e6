"""Requirement 002's service: send a message and stream its answer, or cancel the answer in any
process."""

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

from chat_app.conversations import to_uuid
from chat_app.errors import CONFLICT, NOT_FOUND, SERVICE_UNAVAILABLE, ChatError
from chat_app.loop import run_on_loop
from chat_app.runs.accept import AcceptedMessage, IncomingMessage, Profile, accept_message
from chat_app.runs.cancel_channel import end_notification, request_cancel
from chat_app.runs.endings import DATABASE_UNAVAILABLE, StopReason
from chat_app.runs.registry import accepting_registry, run_registry
from chat_app.values import events as run_events
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
    """An accepted run; `id` is its trace's. `replayed` is true if the message was sent before."""

    id: UUID
    user_message_id: UUID
    conversation_id: UUID
    replayed: bool = False
    _log: RunLog[run_events.RunEvent] | None = field(default=None, repr=False, compare=False)

    def events(self) -> AsyncIterator[run_events.StreamEvent]:
        """Yield the run's events from the first to the last, which is Complete or Error. If another
        call started the run, results of tools may be cut, as in the log."""
        return (
            _stream_events(self.logged_events()) if self._log is None else _public_events(self._log)
        )

    def logged_events(self) -> AsyncGenerator[LoggedEvent, None]:
        """Yield the run's numbered events, from the first to the last."""
        return follow(self.id) if self._log is None else self._log.follow()


async def send_message(
    conversation_id: UUID | str | None,
    text: str,
    profile: Profile,
    *,
    client_id: str | None = None,
    client_message_id: str | None = None,
) -> StreamHandle:
    """Store a message and start its answer, which continues whether it is followed or not.

    Without a conversation, one is created for `client_id`; with both, it must be that client's.
    The same `client_message_id` of a client returns the same run again. Raises ChatError if
    nothing was stored.
    """
    incoming = IncomingMessage(conversation_id, text, {"": profile}, client_id, client_message_id)
    return await _run_on_chat_loop(_store_and_start(incoming))


async def cancel(run: StreamHandle | UUID | str) -> None:
    """Cancel a run and store its partial answer. Raises ChatError: NOT_FOUND, or CONFLICT if it
    has ended already."""
    await _run_on_chat_loop(_cancel_and_wait(run.id if isinstance(run, StreamHandle) else run))


async def _run_on_chat_loop(work: Coroutine[Any, Any, T]) -> T:
    """Await `work` on the chat's event loop; errors of the database become ChatError."""
    try:
        return await run_on_loop(work)
    except OpenTestTransaction as error:
        raise ChatError(SERVICE_UNAVAILABLE, str(error)) from error
    except DatabaseProblem as problem:
        log.error("the chat's database failed", exc_info=problem)
        raise ChatError(SERVICE_UNAVAILABLE, DATABASE_UNAVAILABLE) from problem


async def _store_and_start(incoming: IncomingMessage) -> StreamHandle:
    """Store a message and start its run, unless it was sent before; on the chat's event loop."""
    registry = accepting_registry()
    with registry.gate.hold():
        accepted: AcceptedMessage = await in_database(partial(accept_message, incoming))
    started: list[Any] = [registry.start(opened) for opened in accepted.runs]
    return StreamHandle(
        accepted.trace_ids[0],
        accepted.user_message_id,
        accepted.conversation_id,
        replayed=not started,
        _log=started[0].log if started else None,
    )


async def _public_events(log: RunLog[run_events.RunEvent]) -> AsyncIterator[run_events.StreamEvent]:
    """Yield a run's events without those that only its log needs."""
    async for event in log.sources():
        if not isinstance(event, run_events.ToolStarted | run_events.ToolEnded):
            yield event


async def _stream_events(log: AsyncIterator[LoggedEvent]) -> AsyncIterator[run_events.StreamEvent]:
    """Yield the service's events for a run's logged events."""
    text: list[str] = []
    thinking: list[str] = []
    calls: list[run_events.ToolCall] = []
    async for logged in log:
        payload = logged.payload
        match logged.type:
            case "chunk":
                text.append(payload["content"])
                yield run_events.TextDelta(payload["content"])
            case "thinking":
                thinking.append(payload["content"])
                yield run_events.ThinkingDelta(payload["content"])
            case "tool_start":
                calls.append(call := _to_tool_call(logged))
                yield run_events.ToolCallStart(call.id, call.name)
                yield run_events.ToolCallDelta(call.id, call.arguments)
            case "tool_output":
                yield run_events.ToolResult(
                    payload["tool_call_id"],
                    payload["output"],
                    is_error=payload["is_error"],
                    code=payload["code"],
                )
            case "done":
                yield run_events.Complete("".join(text), "".join(thinking) or None, tuple(calls))
            case "error":
                yield run_events.Error(payload["message"], payload["code"])


def _to_tool_call(start: LoggedEvent) -> run_events.ToolCall:
    """Return the tool call of a logged event `tool_start`."""
    arguments = start.payload["tool_args"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return run_events.ToolCall(start.payload["tool_call_id"], start.payload["tool_name"], text)


# While another process cancels its run, the database is polled after the first interval, which then
# doubles up to the second; a message from that process ends the wait earlier.
FIRST_POLL_SECONDS, POLL_SECONDS = 0.01, 0.1


async def _cancel_and_wait(run_id: Any) -> None:
    """Cancel the run and wait for its end; on the chat's event loop. Raises NOT_FOUND, and CONFLICT
    if it has ended."""
    if (trace_id := to_uuid(run_id)) is None:
        raise _run_not_found()
    status_here = await run_registry().stop(trace_id, StopReason.CANCELLED)
    status = status_here or await _cancel_elsewhere(trace_id)
    if status != Status.CANCELLED:
        raise _already_ended()


async def _cancel_elsewhere(trace_id: UUID) -> str:
    """Ask the run's process to cancel it, wait for the end and return the final status. Raises
    NOT_FOUND, and CONFLICT if it has ended already."""
    owner = await in_database(partial(_mark_cancel_requested, trace_id))
    if owner is None:
        raise _already_ended()
    run_registry().listen_for_cancels()
    pause = FIRST_POLL_SECONDS
    with end_notification(trace_id) as ended:
        await request_cancel(owner, trace_id)
        while (status := await in_database(partial(_existing_status, trace_id))) == Status.RUNNING:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await ended.wait()
            ended.clear()
            pause = min(2 * pause, POLL_SECONDS)
    return status


def _mark_cancel_requested(trace_id: UUID) -> str | None:
    """Mark a run to be cancelled; return its process, or None if it has ended. Raises NOT_FOUND."""
    if _existing_status(trace_id) != Status.RUNNING:
        return None
    running = Trace.objects.filter(pk=trace_id, status=Status.RUNNING)
    running.update(cancel_requested=True)
    return running.values_list("owner", flat=True).first()


def _existing_status(trace_id: UUID) -> str:
    """Return the status of a run; raises NOT_FOUND for an unknown one."""
    if (status := current_status(trace_id)) is None:
        raise _run_not_found()
    return status


def _already_ended() -> ChatError:
    return ChatError(CONFLICT, "The answer has ended already", field="trace_id")


def _run_not_found() -> ChatError:
    return ChatError(NOT_FOUND, "Run not found", field="trace_id")
