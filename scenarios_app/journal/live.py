"""The WebSocket that tells pages the id of the journal's newest row, and the redirect to the
journal's page."""

import asyncio
import contextlib
import logging
from typing import Any
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.contrib.auth.decorators import login_required
from django.db import Error
from django.db.models import Max
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
# Polled, because any process may write rows.
LOOK_SECONDS = 0.25
# A page that receives nothing for this time is closed.
SEND_SECONDS = 5.0


class LiveJournal(AsyncJsonWebsocketConsumer):
    """A WebSocket that sends `{"last": ID}`, the id of the newest row or null: when it connects,
    and again whenever there is another newest row."""

    # The id that this page was told last; -1 before the first.
    last: int | None = -1

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


class Feed:
    """Polls the journal once for all live pages of this process."""

    def __init__(self) -> None:
        self._pages: set[LiveJournal] = set()
        self._last: int | None = None
        self._looking: asyncio.Task[None] | None = None

    async def join(self, page: LiveJournal) -> None:
        """Tell a page the newest row, and from then on each change of it."""
        self._pages.add(page)
        last = await _read_last()
        if self._looking is None and self._pages:
            self._last = last
            self._looking = asyncio.create_task(self._poll())
        await self._tell(page, last)

    async def leave(self, page: LiveJournal) -> None:
        """Remove a page; the last one ends the polling."""
        self._pages.discard(page)
        if self._looking is not None and not self._pages:
            looking, self._looking = self._looking, None
            looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await looking

    async def _poll(self) -> None:
        """Tell all pages the newest row when it has changed; look at intervals."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                last = await _read_last()
            except Error:
                log.exception("the journal could not be read; looking again")
                continue
            if last != self._last:
                self._last = last
                await asyncio.gather(*(self._tell(page, last) for page in self._pages))

    async def _tell(self, page: LiveJournal, last: int | None) -> None:
        """Send a page the id of the newest row, unless it has that; remove and close the page if
        that fails or takes SEND_SECONDS."""
        if page.last == last:
            return
        page.last = last
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await page.send_json({"last": last})
        except Exception:
            # A slow or closed page must not stop the others.
            self._pages.discard(page)
            with contextlib.suppress(Exception):
                await page.close()


_feeds: WeakKeyDictionary[asyncio.AbstractEventLoop, Feed] = WeakKeyDictionary()


def feed() -> Feed:
    """Return the feed of the running event loop."""
    return _feeds.setdefault(asyncio.get_running_loop(), Feed())


@database_sync_to_async
def _read_last() -> int | None:
    """Return the id of the newest row, or None without rows."""
    if journal.unread:
        # This page is a reader, so entries in memory are written.
        journal.flush()
    last: int | None = ServedRequest.objects.aggregate(last=Max("pk"))["last"]
    return last


@require_safe
@never_cache
@login_required
def journal_page(request: HttpRequest) -> HttpResponse:
    """Redirect to the admin's list of requests, with the same query."""
    require_permissions(request, PERMISSION)
    return redirect(reverse("admin:scenarios_app_servedrequest_changelist", query=request.GET))
