"""Reads rows of a running Django TestCase, which only its own connection sees.

Its transaction never commits, so other threads use the test's connection. Nothing here has an
effect outside of tests.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from django.core import mail
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

T = TypeVar("T")
Position: TypeAlias = tuple[object, ...]
Scope: TypeAlias = tuple[object, ...]
"""The transactions of a test case that are open: its class's and its own."""

_connections: WeakValueDictionary[int, BaseDatabaseWrapper] = WeakValueDictionary()
# True once a connection was opened that a test case may use.
_is_testing = False


class OpenTestTransaction(RuntimeError):
    """A test's transaction is open on another connection than this thread's."""

    def __init__(self) -> None:
        super().__init__(
            "This cannot be used inside the transaction of a test, because it uses another "
            "connection to the database. Use django.test.TransactionTestCase, or "
            "@pytest.mark.django_db(transaction=True)."
        )


def refuse_open_test_transaction() -> None:
    """Raise OpenTestTransaction if a test's transaction is open on another connection: this
    thread's would wait for it or miss its rows."""
    running = running_connection()
    if running is not None and running is not connections[DEFAULT_DB_ALIAS]:
        raise OpenTestTransaction


def track_connection(*, connection: BaseDatabaseWrapper, **_: object) -> None:
    """Keep a weak reference to a new connection of a process that tests; a handler of Django's
    `connection_created`. Every test runner sets up Django's test environment, of which the outbox
    is a part, before it connects. Servers import `django.test` too, for their pages of APIs."""
    global _is_testing
    if hasattr(mail, "outbox") and connection.alias == DEFAULT_DB_ALIAS:
        _connections[id(connection)] = connection
        _is_testing = True


def running_connection() -> BaseDatabaseWrapper | None:
    """Return the connection of the running test case, or None."""
    if not _is_testing:
        return None
    opened = (reference() for reference in _connections.valuerefs())  # an atomic copy
    return next((one for one in opened if one is not None and scope_of(one)), None)


def running_scope() -> Scope:
    """Return the open transactions of the running test case; empty if none runs."""
    if not _is_testing:
        return ()
    connection = running_connection()
    return () if connection is None else scope_of(connection)


def scope_of(connection: BaseDatabaseWrapper) -> Scope:
    """Return the transactions that a test case has open on this connection; empty if none."""
    blocks: list[Any] = connection.atomic_blocks
    return tuple(block for block in blocks if getattr(block, "_from_testcase", False))


def transaction_position(connection: BaseDatabaseWrapper) -> Position:
    """Return a value that changes with every rollback of the connection's transaction."""
    return (*connection.atomic_blocks, *connection.savepoint_ids)


def run_through(connection: BaseDatabaseWrapper | None, work: Callable[[], T]) -> T:
    """Run `work` in a new thread on this connection, or on a new one for None; return its result.
    Callable on an event loop. The thread that owns the connection must be waiting."""

    def work_on_connection() -> T:
        if connection is None:
            try:
                return work()
            finally:
                connections[DEFAULT_DB_ALIAS].close()
        connections[DEFAULT_DB_ALIAS] = connection
        try:
            return work()
        finally:
            del connections[DEFAULT_DB_ALIAS]

    if connection is not None:
        connection.inc_thread_sharing()
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="mockllm-rows") as pool:
            return pool.submit(work_on_connection).result()
    finally:
        if connection is not None:
            connection.dec_thread_sharing()
