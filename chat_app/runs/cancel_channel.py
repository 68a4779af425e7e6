"""Messages between processes over the channel layer: cancel this run, and: this run has ended.

Without a shared channel layer, a process learns of the cancellation when it renews its leases, and
the other one polls the database.
"""

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

# Waiters of this process for runs of other processes; used on the chat's event loop only.
_waiting: defaultdict[UUID, set[asyncio.Event]] = defaultdict(set)


async def request_cancel(process: str, trace_id: UUID) -> None:
    """Ask a process to cancel its run. If the message is lost, the process sees the request at its
    next lease renewal."""
    await _send_to_process(
        process, {"type": _CANCEL, "trace_id": str(trace_id), "asks": current_owner()}
    )


@contextmanager
def end_notification(trace_id: UUID) -> Iterator[asyncio.Event]:
    """Yield an event that is set when the run's process reports its end."""
    event = asyncio.Event()
    _waiting[trace_id].add(event)
    try:
        yield event
    finally:
        _waiting[trace_id].discard(event)
        if not _waiting[trace_id]:
            del _waiting[trace_id]


async def listen_for_cancels(cancel: Callable[[UUID], Awaitable[object]]) -> None:
    """Cancel runs at the request of other processes and report their ends, until cancelled. Return
    if processes share no channel layer."""
    layer = _shared_channel_layer()
    cancelling: set[asyncio.Task[None]] = set()
    is_away = False
    while layer is not None:
        try:
            channel = await layer.new_channel()
            await layer.group_add(_group_name(current_owner()), channel)
            is_away = False
            while True:
                message = await layer.receive(channel)
                trace_id = UUID(message["trace_id"])
                if message["type"] == _ENDED:
                    for event in _waiting.get(trace_id, ()):
                        event.set()
                else:
                    task = asyncio.create_task(
                        _cancel_and_reply(cancel, trace_id, reply_to=message["asks"])
                    )
                    cancelling.add(task)
                    task.add_done_callback(cancelling.discard)
        except Exception as error:
            # Log each outage once, although every retry fails.
            if not (is_away and _is_outage(error)):
                _log_failure("Messages of other processes cannot be received", error)
            is_away = _is_outage(error)
            await asyncio.sleep(RETRY_SECONDS)


async def _cancel_and_reply(
    cancel: Callable[[UUID], Awaitable[object]], trace_id: UUID, *, reply_to: str
) -> None:
    """Cancel a run, then report its end to the process that asked for it."""
    await cancel(trace_id)
    await _send_to_process(reply_to, {"type": _ENDED, "trace_id": str(trace_id)})


async def _send_to_process(process: str, message: dict[str, str]) -> None:
    """Send a message to another process, if there is a shared channel layer; errors are logged."""
    layer = _shared_channel_layer()
    if layer is None:
        return
    try:
        await layer.group_send(_group_name(process), message)
    except Exception as error:
        _log_failure("Another process could not be notified about a run", error)


def _is_outage(error: Exception) -> bool:
    """True if the error means that Redis is unreachable."""
    # By name, because the Redis client may not be installed.
    modules = {base.__module__ for base in type(error).__mro__}
    return isinstance(error, OSError) or "redis.exceptions" in modules


def _log_failure(problem: str, error: Exception) -> None:
    """Log one line if Redis is unreachable, a traceback for any other error."""
    if _is_outage(error):
        log.warning("%s: Redis does not answer (%s)", problem, error)
    else:
        log.error(problem, exc_info=error)


def _shared_channel_layer() -> Any:
    """Return the channel layer that other processes share, or None."""
    layer = get_channel_layer()
    return None if isinstance(layer, InMemoryChannelLayer) else layer


def _group_name(process: str) -> str:
    return f"mockllm-runs-{process}"
