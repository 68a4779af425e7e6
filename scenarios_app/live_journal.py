"""The journal as it grows, over a WebSocket: the newest rows first, then each new one."""

import asyncio
import contextlib
import logging
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.db import DatabaseError
from django.urls import reverse

from scenarios_app.models import ServedRequest

log = logging.getLogger(__name__)

PERMISSION = "scenarios_app.view_servedrequest"
NOT_ALLOWED = 4403
FIRST = 100
# Rows may be written by any process, so the table is what is looked at.
LOOK_SECONDS = 0.25
_COLUMNS = (
    "at", "session", "provider", "method", "path", "model", "streamed", "scenario", "step",
    "fallback", "matched", "outcome", "fault", "status", "violations", "near_misses", "duration_ms",
)  # fmt: skip


class LiveJournal(AsyncJsonWebsocketConsumer):
    """Sends `{"rows": […]}`, the oldest of them first, whenever there are new ones."""

    _looking: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        await self.accept()
        user = self.scope["user"]
        if not await database_sync_to_async(user.has_perm)(PERMISSION):
            await self.close(code=NOT_ALLOWED)
            return
        self._looking = asyncio.create_task(self._look())

    async def disconnect(self, code: int) -> None:
        if self._looking is not None:
            self._looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._looking

    async def _look(self) -> None:
        rows = await _read(None)
        await self.send_json({"rows": [row_json(row) for row in rows]})
        last = rows[-1].pk if rows else 0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                rows = await _read(last)
            except DatabaseError:
                log.exception("the journal could not be read; looking again")
                continue
            if rows:
                last = rows[-1].pk
                await self.send_json({"rows": [row_json(row) for row in rows]})


def row_json(row: ServedRequest) -> dict[str, Any]:
    """A row as the page shows it; `near` says what kept the nearest step from answering."""
    return {
        "id": row.pk,
        "url": reverse("admin:scenarios_app_servedrequest_change", args=(row.pk,)),
        "at": row.at.isoformat(),
        "session": row.session,
        "provider": row.provider,
        "request": f"{row.method} {row.path}",
        "model": row.model,
        "streamed": row.streamed,
        "scenario": row.scenario,
        "step": row.step,
        "fallback": row.fallback,
        "matched": row.matched,
        "outcome": row.outcome,
        "fault": row.fault,
        "status": row.status,
        "violations": row.violations,
        "near": _nearest(row.near_misses),
        "duration_ms": round(row.duration_ms, 1),
    }


@database_sync_to_async
def _read(after: int | None) -> list[ServedRequest]:
    """Rows after one, or the newest ones; the oldest of them first."""
    rows = ServedRequest.objects.only(*_COLUMNS)
    if after is None:
        return list(rows.order_by("-pk")[:FIRST])[::-1]
    return list(rows.filter(pk__gt=after).order_by("pk")[:FIRST])


def _nearest(near_misses: Any) -> str:
    for miss in near_misses or ():
        for mismatch in miss.get("mismatches", ()):
            place = f"{miss.get('scenario')}, step {miss.get('step')}"
            return (
                f"{place}: {mismatch.get('field')} wanted {mismatch.get('expected')}, "
                f"got {mismatch.get('actual')}"
            )
    return ""
