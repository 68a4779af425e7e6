"""The WebSocket that sends pages the newest rows of the journal, then each new one, and the
redirect to the journal's page."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.contrib.auth.decorators import login_required
from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from mockllm_site.kit.permissions import require_permissions
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest

log = logging.getLogger(__name__)

PERMISSION = "scenarios_app.view_servedrequest"
NOT_ALLOWED = 4403
# The code for messages that a server does not take, as any WebSocket has it.
UNEXPECTED_MESSAGE = 1008
FIRST = 100
# Polled, because any process may write rows.
LOOK_SECONDS = 0.25
# A page that receives nothing for this time is closed.
SEND_SECONDS = 5.0
_LIST_COLUMNS = (
    "session", "provider", "model", "streamed", "scenario", "step", "fallback", "matched",
    "outcome", "fault", "status", "violations",
)  # fmt: skip
_COLUMNS = (*_LIST_COLUMNS, "at", "method", "path", "near_misses", "duration_ms")


class LiveJournal(AsyncJsonWebsocketConsumer):
    """A WebSocket that sends new rows as `{"rows": […]}`, the oldest first."""

    # The id of the last row that this page has been sent.
    last = 0

    async def connect(self) -> None:
        """Accept the connection and join the feed; without PERMISSION close it with NOT_ALLOWED."""
        await self.accept()
        user = self.scope["user"]
        if not await database_sync_to_async(user.has_perm)(PERMISSION):
            await self.close(code=NOT_ALLOWED)
            return
        await feed().join(self)

    async def receive(self, *content: Any, **options: Any) -> None:
        """Close the connection: pages send nothing."""
        await self.close(code=UNEXPECTED_MESSAGE, reason="this connection takes no messages")

    async def disconnect(self, code: int) -> None:
        await feed().leave(self)

    async def show(self, rows: Sequence[ServedRequest], text: str) -> None:
        """Send the rows that this page does not have; `text` is the message with all `rows`."""
        new = [row for row in rows if row.pk > self.last]
        if len(new) < len(rows):
            text = message(new)
        if new:
            self.last = new[-1].pk
            await self.send(text_data=text)


class Feed:
    """Polls the journal once for all live pages of this process."""

    def __init__(self) -> None:
        self._pages: set[LiveJournal] = set()
        self._last = 0
        self._looking: asyncio.Task[None] | None = None

    async def join(self, page: LiveJournal) -> None:
        """Send a page the newest rows, and from then on each new one."""
        rows = await _read(None)
        await page.send(text_data=message(rows))
        page.last = rows[-1].pk if rows else 0
        # Rows that the others have been sent meanwhile; they may be deleted already.
        while self._looking and page.last < self._last and (rows := await _read(page.last)):
            await page.show(rows, message(rows))
        self._pages.add(page)
        if self._looking is None:
            self._last = page.last
            self._looking = asyncio.create_task(self._poll_rows())

    async def leave(self, page: LiveJournal) -> None:
        """Remove a page; the last one ends the polling."""
        self._pages.discard(page)
        if self._looking is not None and not self._pages:
            looking, self._looking = self._looking, None
            looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await looking

    async def _poll_rows(self) -> None:
        """Show new rows to all pages at intervals."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                rows = await _read(self._last)
            except Error:
                log.exception("the journal could not be read; looking again")
                continue
            if rows:
                self._last = rows[-1].pk
                text = message(rows)
                await asyncio.gather(
                    *(self._show_to_page(page, rows, text) for page in self._pages)
                )

    async def _show_to_page(
        self, page: LiveJournal, rows: Sequence[ServedRequest], text: str
    ) -> None:
        """Send rows to a page; remove and close it if that fails or takes SEND_SECONDS."""
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await page.show(rows, text)
        except Exception:
            # A slow or closed page must not stop the others.
            self._pages.discard(page)
            with contextlib.suppress(Exception):
                await page.close()


_feeds: WeakKeyDictionary[asyncio.AbstractEventLoop, Feed] = WeakKeyDictionary()


def feed() -> Feed:
    """Return the feed of the running event loop."""
    return _feeds.setdefault(asyncio.get_running_loop(), Feed())


def message(rows: Sequence[ServedRequest]) -> str:
    """Return the WebSocket message for rows."""
    return json.dumps({"rows": [row_json(row) for row in rows]})


def row_json(row: ServedRequest) -> dict[str, Any]:
    """Return a row as the page shows it; `near` says why the nearest step did not answer."""
    return {
        "id": row.pk,
        "url": reverse("admin:scenarios_app_servedrequest_change", args=(row.pk,)),
        "at": row.at.isoformat(),
        "request": f"{row.method} {row.path}",
        **{name: getattr(row, name) for name in _LIST_COLUMNS},
        "near": nearest(row.near_misses),
        "duration_ms": round(row.duration_ms, 1),
    }


@database_sync_to_async
def _read(after: int | None) -> list[ServedRequest]:
    """Return the first rows after an id, or the newest ones for None: at most FIRST, the oldest
    first."""
    if journal.unread:
        # This page is a reader, so entries in memory are written.
        journal.flush()
    rows = ServedRequest.objects.only(*_COLUMNS)
    if after is None:
        return list(rows.order_by("-pk")[:FIRST])[::-1]
    return list(rows.filter(pk__gt=after).order_by("pk")[:FIRST])


def nearest(near_misses: Any) -> str:
    """Return why the nearest step did not answer, or an empty string."""
    for miss in near_misses or ():
        for mismatch in miss.get("mismatches", ()):
            place = f"{miss.get('scenario')}, step {miss.get('step')}"
            return (
                f"{place}: {mismatch.get('field')} wanted {mismatch.get('expected')}, "
                f"got {mismatch.get('actual')}"
            )
    return ""


@require_safe
@never_cache
@login_required
def journal_page(request: HttpRequest) -> HttpResponse:
    """Redirect to the admin's list of requests, with the same query."""
    require_permissions(request, PERMISSION)
    return redirect(reverse("admin:scenarios_app_servedrequest_changelist", query=request.GET))
