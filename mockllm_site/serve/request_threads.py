"""Chooses the threads for the synchronous work of requests: pages share the database's, and
providers' requests have others, so that they go on while the database hangs."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import cache, partial
from queue import Empty, SimpleQueue
from typing import Final, ParamSpec, TypeAlias, TypeVar

from asgiref.sync import ThreadSensitiveContext
from django.db import connections

from mockllm_site.serve.database_threads import request_executor
from scenarios_app.serving.transports.asgi_scope import App, Receive, Scope, Send

T = TypeVar("T")
P = ParamSpec("P")
_Task: TypeAlias = "tuple[Future[object], Callable[[], object]]"

# Paths that must answer even if all other threads wait for the database.
PROBE_PATHS: Final = frozenset({"/livez", "/healthz", "/readyz", "/metrics"})
# Threads beyond one that had no work for this time end.
IDLE_SECONDS: Final = 10.0


def with_page_threads(app: App) -> App:
    """Return the application for pages with one database thread for the thread-sensitive work of
    each request, except for PROBE_PATHS."""

    async def threaded(scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, with its work in one thread."""
        if scope["path"] in PROBE_PATHS:
            await app(scope, receive, send)
            return
        async with ThreadSensitiveContext(executor=request_executor()):
            await app(scope, receive, send)

    return threaded


def with_provider_threads(app: App) -> App:
    """Return the application for providers' requests with the threads that are theirs."""

    async def threaded(scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, with its work in these threads."""
        async with ThreadSensitiveContext(executor=provider_executor()):
            await app(scope, receive, send)

    return threaded


class SpareThreadExecutor(Executor):
    """Runs tasks in threads of which one is always free: a site's synchronous middleware holds its
    thread for a whole answer, and the short work of other requests must not wait for that."""

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._tasks: SimpleQueue[_Task] = SimpleQueue()
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._free = 0

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Queue a task and return its future."""
        future: Future[T] = Future()
        with self._lock:
            self._keep_one_free()
        self._tasks.put((future, partial(work, *args, **kwargs)))  # type: ignore[arg-type]
        return future

    def _keep_one_free(self) -> None:
        """Start a thread if none is free. The lock must be held."""
        if not self._free:
            self._free = 1
            threading.Thread(target=self._work, name="mockllm-provider", daemon=True).start()

    def _work(self) -> None:
        """Run tasks, until there were none for a while and another thread is free."""
        while True:
            try:
                future, work = self._tasks.get(timeout=self._idle_seconds)
            except Empty:
                with self._lock:
                    if self._free > 1:
                        self._free -= 1
                        return
                continue
            with self._lock:
                self._free -= 1
                self._keep_one_free()
            _run(future, work)
            del future, work
            with self._lock:
                self._free += 1


def _run(future: "Future[object]", work: Callable[[], object]) -> None:
    """Run a task, unless it was cancelled, and close database connections that it has opened."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
    finally:
        connections.close_all()


@cache
def provider_executor() -> SpareThreadExecutor:
    """Return this process's executor for providers' requests, made at the first call."""
    return SpareThreadExecutor()


# A forked child inherits the executor, but not its threads.
os.register_at_fork(after_in_child=provider_executor.cache_clear)
