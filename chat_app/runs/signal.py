"""Telling another process at once that one of its runs is to be cancelled, and hearing from it that
this is done, where the processes have a channel layer between them. Without one the first learns it
when it renews its leases, and the other looks."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

from channels.layers import InMemoryChannelLayer, get_channel_layer

from traces_app.leases import current_owner

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 2.0
_CANCEL: Final = "run.cancel"
_ENDED: Final = "run.ended"

# Who waits in this process for the end of a run of another one; on the chat's event loop.
_waiting: defaultdict[UUID, set[asyncio.Event]] = defaultdict(set)


async def ask_to_cancel(process: str, trace_id: UUID) -> None:
    """Ask the process of that name. What does not get there is found in the database later."""
    await _tell(process, {"type": _CANCEL, "trace_id": str(trace_id), "asks": current_owner()})


@contextmanager
def told_of_end(trace_id: UUID) -> Iterator[asyncio.Event]:
    """Set when the process that was asked says that the run has ended."""
    event = asyncio.Event()
    _waiting[trace_id].add(event)
    try:
        yield event
    finally:
        _waiting[trace_id].discard(event)
        if not _waiting[trace_id]:
            del _waiting[trace_id]


async def hear(cancel: Callable[[UUID], Awaitable[object]]) -> None:
    """Have each run cancelled that another process asks this one to cancel, and tell that process
    when it has ended; for ever."""
    layer = _between_processes()
    heeding: set[asyncio.Task[None]] = set()
    is_away = False
    while layer is not None:
        try:
            channel = await layer.new_channel()
            await layer.group_add(_group(current_owner()), channel)
            is_away = False
            while True:
                message = await layer.receive(channel)
                trace_id = UUID(message["trace_id"])
                if message["type"] == _ENDED:
                    for event in _waiting.get(trace_id, ()):
                        event.set()
                else:
                    task = asyncio.create_task(_heed(cancel, trace_id, asks=message["asks"]))
                    heeding.add(task)
                    task.add_done_callback(heeding.discard)
        except Exception as error:
            # Once for each outage: it is tried again for as long as that lasts.
            if not (is_away and _is_outage(error)):
                _log("Other processes cannot be heard", error)
            is_away = _is_outage(error)
            await asyncio.sleep(RETRY_SECONDS)


async def _heed(cancel: Callable[[UUID], Awaitable[object]], trace_id: UUID, *, asks: str) -> None:
    await cancel(trace_id)
    await _tell(asks, {"type": _ENDED, "trace_id": str(trace_id)})


async def _tell(process: str, message: dict[str, str]) -> None:
    layer = _between_processes()
    if layer is None:
        return
    try:
        await layer.group_send(_group(process), message)
    except Exception as error:
        _log("Another process could not be told about a run", error)


def _is_outage(error: Exception) -> bool:
    # By name: who has no Redis need not have its client.
    modules = {base.__module__ for base in type(error).__mro__}
    return isinstance(error, OSError) or "redis.exceptions" in modules


def _log(what: str, error: Exception) -> None:
    """One line for a Redis that is away, all that is known for anything else."""
    if _is_outage(error):
        log.warning("%s: Redis does not answer (%s)", what, error)
    else:
        log.error(what, exc_info=error)


def _between_processes() -> Any:
    layer = get_channel_layer()
    return None if isinstance(layer, InMemoryChannelLayer) else layer


def _group(process: str) -> str:
    return f"mockllm-runs-{process}"
