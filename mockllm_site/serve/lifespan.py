"""Starts the services of a server process, and drains and stops them at its end."""

import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeAlias

from asgiref.sync import sync_to_async
from django.conf import settings

from mockllm_site.kit.database_thread import close_connection
from mockllm_site.serve import chat, database_threads, lease
from mockllm_site.serve import first_start as starting
from mockllm_site.serve.lease import LeaseRefused
from scenarios_app.serving.services import services
from scenarios_app.serving.transports.asgi_scope import Receive, Scope, Send

Handler: TypeAlias = Callable[[int, FrameType | None], object]

# The deadline of running answers as monotonic time; None until a signal arrives.
_drain_end: float | None = None


async def lifespan(scope: Scope, receive: Receive, send: Send) -> None:
    """Start and stop the services on the ASGI server's lifespan events; return after the last."""
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
            left = _drain_end - time.monotonic() if _drain_end else settings.MOCKLLM_DRAIN_SECONDS
            await sync_to_async(stop)(max(left, 0.0))
            await services().release_loop()
            await send({"type": "lifespan.shutdown.complete"})
            return


async def start() -> None:
    """Prepare the database and take the lease, then start the services and the chat."""
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
    """Stop the chat, giving its answers this many seconds, then everything that `start` started."""
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
    """Create an in-memory database and take the lease; `serve` has done both already."""
    starting.prepare_test_mode()
    lease.acquire()


def _drain_on_signals() -> None:
    """Wrap the handlers of SIGTERM and SIGINT, so that they first set a deadline for answers."""
    for number in (signal.SIGTERM, signal.SIGINT):
        previous = signal.getsignal(number)
        if callable(previous):
            try:
                signal.signal(number, _drain_before(previous))
            except ValueError:
                # Signals can only be handled in the main thread.
                return


def _drain_before(previous: Handler) -> Handler:
    """Return a signal handler that sets the deadline of answers, then calls the previous one."""

    def handle(number: int, frame: FrameType | None) -> None:
        global _drain_end
        # A second signal ends the wait.
        seconds = settings.MOCKLLM_DRAIN_SECONDS if _drain_end is None else 0.0
        _drain_end = time.monotonic() + seconds
        services().drain(seconds)
        chat.drain(seconds)
        previous(number, frame)

    return handle
