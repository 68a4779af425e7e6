"""The one thread, with its own connection, in which chat runs use the database."""

import asyncio
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import Error, connections

from mockllm_site.kit.testcase import refuse_open_test_transaction

T = TypeVar("T")

log = logging.getLogger(__name__)


def _make_executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="mockllm-runs-database")


_executor = _make_executor()


async def in_database(work: Callable[[], T]) -> T:
    """Run `work` in the database thread of chat runs, and return its result; raise
    OpenTestTransaction if a test's transaction is open elsewhere. `work` must do no other I/O: an
    open transaction on an in-memory database blocks all others."""

    def run_on_working_connections() -> T:
        refuse_open_test_transaction()
        _prepare_connections()
        return work()

    return await asyncio.get_running_loop().run_in_executor(_executor, run_on_working_connections)


def close_connection() -> None:
    """Wait for earlier work, then close the thread's connections; later work opens new ones."""
    _executor.submit(connections.close_all).result()


def roll_back_open_transactions() -> None:
    """Roll back transactions that earlier work in this thread left open, since they block other
    writers."""
    for connection in connections.all(initialized_only=True):
        manual = connection.connection is not None and not connection.autocommit
        if connection.in_atomic_block or manual:
            log.error("a transaction was left open in this thread; it is rolled back")
            connection.in_atomic_block = False
            connection.savepoint_ids.clear()
            connection.atomic_blocks.clear()
            try:
                connection.rollback()
                connection.set_autocommit(True)
            except Error:
                connection.close()


def _prepare_connections() -> None:
    """Roll back open transactions and close broken connections of this thread. Working ones stay
    open: a new one to PostgreSQL takes 6 ms."""
    roll_back_open_transactions()
    for connection in connections.all(initialized_only=True):
        connection.close_at = None
        connection.health_check_enabled = True  # type: ignore[attr-defined]
        connection.close_if_unusable_or_obsolete()


def _replace_executor() -> None:
    """Make a new executor in a forked child, which inherits one without its thread."""
    global _executor
    _executor = _make_executor()


os.register_at_fork(after_in_child=_replace_executor)
