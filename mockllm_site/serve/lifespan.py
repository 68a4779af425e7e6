"""The start and the end of a process that serves."""

import logging
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeAlias

from asgiref.sync import sync_to_async
from django.conf import settings

from mockllm_site.kit.database_thread import close_connection
from mockllm_site.serve import chat, database, database_threads, lease
from mockllm_site.serve import first_start as starting
from mockllm_site.serve.lease import LeaseRefused
from scenarios_app.serving.services import services
from scenarios_app.serving.transports.asgi_scope import Receive, Scope, Send

log = logging.getLogger(__name__)

Handler: TypeAlias = Callable[[int, FrameType | None], object]

# The monotonic time at which draining ends; None until a signal arrives.
_drained_at: float | None = None


async def lifespan(scope: Scope, receive: Receive, send: Send) -> None:
    """Start and stop the services on the ASGI server's lifespan events."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            try:
                await start()
            except Exception as error:
                name = "" if isinstance(error, LeaseRefused) else f"{type(error).__name__}: "
                await send({"type": "lifespan.startup.failed", "message": f"{name}{error}"})
                return
            _drain_on_signals()
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            # Chat answers get the rest of the drain time; their provider may be this server.
            left = _drained_at - time.monotonic() if _drained_at else settings.MOCKLLM_DRAIN_SECONDS
            await sync_to_async(stop)(max(left, 0.0))
            await services().release_loop()
            await send({"type": "lifespan.shutdown.complete"})
            return


async def ensure_started() -> None:
    """Start the services at the first request, under a server without lifespan events. A failure is
    only logged."""
    if not services().started:
        try:
            await start()
        except Exception:
            # Requests then get an error in the envelope of their path.
            log.exception("the services could not be started")


async def start() -> None:
    """Start the services after their database is ready."""
    await sync_to_async(_prepare)()
    try:
        services().use_running_loop()
        services().cluster.metrics_text = _metrics_text
        await services().start()
        await chat.start()
    except BaseException:
        await sync_to_async(lease.release)()
        raise


def stop(seconds: float) -> None:
    """Stop the services; running answers have this many seconds to finish."""
    chat.stop(seconds)
    close_connection()
    database_threads.close_connections()
    services().stop()
    lease.release()


def _metrics_text() -> str:
    # Imported late: only servers with Redis need it, to answer metrics queries of other processes.
    from mockllm_site.pages.metrics import labelled_metrics

    return labelled_metrics()


def _prepare() -> None:
    """Create an in-memory database and take the lease, which only `serve` does before."""
    if database.prepare_in_memory():
        starting.load_test_mode()
    lease.acquire()


def _drain_on_signals() -> None:
    """Install signal handlers that give answers a deadline, before the server's handlers."""
    for number in (signal.SIGTERM, signal.SIGINT):
        theirs = signal.getsignal(number)
        if callable(theirs):
            try:
                signal.signal(number, _drain_before(theirs))
            except ValueError:
                # Signals can only be handled in the main thread.
                return


def _drain_before(theirs: Handler) -> Handler:
    """Return a signal handler that gives answers their deadline, then calls `theirs`."""

    def handle(number: int, frame: FrameType | None) -> None:
        global _drained_at
        # A second signal ends the wait.
        seconds = settings.MOCKLLM_DRAIN_SECONDS if _drained_at is None else 0.0
        _drained_at = time.monotonic() + seconds
        services().drain(seconds)
        chat.drain(seconds)
        theirs(number, frame)

    return handle
