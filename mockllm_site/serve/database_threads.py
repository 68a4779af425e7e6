"""Runs the database work of requests in a few threads that keep their connections open."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Final, ParamSpec, TypeVar

from django.conf import settings
from django.core.signals import request_started
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from mockllm_site.kit.database_thread import roll_back_open_transactions

T = TypeVar("T")
P = ParamSpec("P")

CLOSE_TIMEOUT_SECONDS: Final = 5.0

_thread_state = threading.local()


class DatabaseThread:
    """A thread that runs tasks one by one; `unfinished` counts waiting and running tasks."""

    def __init__(self) -> None:
        self.unfinished = 0
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(1, "mockllm-database", initializer=_mark_thread)

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Queue a task and return its future, a cancelled one while the interpreter shuts down."""
        try:
            future = self._executor.submit(work, *args, **kwargs)
        except RuntimeError:
            ended: Future[T] = Future()
            ended.cancel()
            return ended
        with self._lock:
            self.unfinished += 1
        future.add_done_callback(self._count_done)
        return future

    def _count_done(self, _: "Future[T]") -> None:
        with self._lock:
            self.unfinished -= 1


class RequestExecutor(Executor):
    """Runs all thread-sensitive work of one request in one database thread, chosen at its first
    task: the thread with the fewest unfinished tasks."""

    def __init__(self, threads: tuple[DatabaseThread, ...]) -> None:
        self._threads = threads
        self._chosen: DatabaseThread | None = None

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Queue a task in the request's thread, and return its future."""
        if self._chosen is None:
            # `min` takes the first of equally idle threads, so few requests open few connections.
            self._chosen = min(self._threads, key=lambda thread: thread.unfinished)
        return self._chosen.submit(work, *args, **kwargs)


def request_executor() -> RequestExecutor:
    """Return a new executor for the work of one request."""
    return RequestExecutor(_threads())


def close_connections() -> None:
    """Close the threads' connections; wait at most CLOSE_TIMEOUT_SECONDS."""
    wait([thread.submit(connections.close_all) for thread in _threads()], CLOSE_TIMEOUT_SECONDS)


@cache
def _threads() -> tuple[DatabaseThread, ...]:
    """Return this process's database threads, made at the first call."""
    return tuple(DatabaseThread() for _ in range(settings.MOCKLLM_DATABASE_THREADS))


def _mark_thread() -> None:
    """Mark the current thread as one that keeps its connections between requests."""
    _thread_state.keeps_connections = True


def _keep_connection(*, connection: BaseDatabaseWrapper, **_: object) -> None:
    """Let a marked thread keep a new connection; each request checks it before use."""
    if getattr(_thread_state, "keeps_connections", False):
        connection.close_at = None
        connection.health_check_enabled = True  # type: ignore[attr-defined]


def _roll_back_at_request_start(**_: object) -> None:
    """Roll back transactions that an earlier request left open in a marked thread."""
    if getattr(_thread_state, "keeps_connections", False):
        roll_back_open_transactions()


connection_created.connect(_keep_connection)
request_started.connect(_roll_back_at_request_start)
# A forked child inherits the executors, but not their threads.
os.register_at_fork(after_in_child=_threads.cache_clear)
