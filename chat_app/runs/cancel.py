"""Cancelling a run, in this process or in the one that has it."""

import asyncio
from functools import partial
from typing import Any
from uuid import UUID

from chat_app.conversation_queries import as_uuid
from chat_app.errors import CONFLICT, NOT_FOUND, ChatError
from chat_app.runs.endings import Stop
from chat_app.runs.registry import runs
from chat_app.runs.signal import ask_to_cancel
from mockllm_site.kit.database_thread import in_database
from traces_app.leases import end_dead_runs
from traces_app.models import Status, Trace

# How often it is looked whether another process has cancelled its run.
POLL_SECONDS = 0.1


async def cancel(run_id: Any) -> None:
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
    await ask_to_cancel(owner, trace_id)
    while (status := await in_database(partial(_status, trace_id))) == Status.RUNNING:
        await asyncio.sleep(POLL_SECONDS)
    return status


def _ask(trace_id: UUID) -> str | None:
    """Leave word for the run's process: which it is, None if the run has ended."""
    _status(trace_id)
    running = Trace.objects.filter(pk=trace_id, status=Status.RUNNING)
    running.update(cancel_requested=True)
    return running.values_list("owner", flat=True).first()


def _status(trace_id: UUID) -> str:
    end_dead_runs(Trace.objects.filter(pk=trace_id))
    status = Trace.objects.filter(pk=trace_id).values_list("status", flat=True).first()
    if status is None:
        raise _unknown()
    return status


def _ended() -> ChatError:
    return ChatError(CONFLICT, "The answer has ended already", field="trace_id")


def _unknown() -> ChatError:
    return ChatError(NOT_FOUND, "Run not found", field="trace_id")
