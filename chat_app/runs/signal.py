"""Telling another process at once that one of its runs is to be cancelled, where the processes have
a channel layer between them. Without one they learn it when they renew their leases."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from channels.layers import InMemoryChannelLayer, get_channel_layer

from traces_app.leases import owner

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 2.0
_KIND: Final = "run.cancel"


async def ask_to_cancel(process: str, trace_id: UUID) -> None:
    """Ask the process of that name. What does not get there is found in the database later."""
    layer = _between_processes()
    if layer is None:
        return
    try:
        await layer.group_send(_group(process), {"type": _KIND, "trace_id": str(trace_id)})
    except Exception:
        log.exception("the channel layer did not take a cancellation")


async def hear(cancel: Callable[[UUID], None]) -> None:
    """Call `cancel` for each run that other processes ask this one to cancel, for ever."""
    layer = _between_processes()
    while layer is not None:
        try:
            channel = await layer.new_channel()
            await layer.group_add(_group(owner()), channel)
            while True:
                cancel(UUID((await layer.receive(channel))["trace_id"]))
        except Exception:
            log.exception("the channel layer is not to be heard")
            await asyncio.sleep(RETRY_SECONDS)


def _between_processes() -> Any:
    layer = get_channel_layer()
    return None if isinstance(layer, InMemoryChannelLayer) else layer


def _group(process: str) -> str:
    return f"mockllm-runs-{process}"
