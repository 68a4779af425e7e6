"""Runs database work of an event loop in one thread with one connection."""

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


def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="mockllm-runs-database")


_executor = _thread()


async def in_database(work: Callable[[], T]) -> T:
    """Run `work` in the thread in which chat runs use the database, and return its result. The
    thread of a web request would end with the request, while a run goes on. `work` does no other
    I/O: an open transaction on an in-memory database blocks everyone else."""

    def run() -> T:
        refuse_open_test_transaction()
        _check_connection()
        return work()

    return await asyncio.get_running_loop().run_in_executor(_executor, run)


def close_connection() -> None:
    """Close that thread's connection; later work opens a new one."""
    _executor.submit(connections.close_all).result()


def give_up_transactions() -> None:
    """Roll back transactions that ended work left open; they would block all other writers."""
    for connection in connections.all(initialized_only=True):
        manual = connection.connection is not None and not connection.autocommit
        if connection.in_atomic_block or manual:
            log.error("a transaction was left open, and is undone")
            connection.in_atomic_block = False
            connection.savepoint_ids.clear()
            connection.atomic_blocks.clear()
            try:
                connection.rollback()
                connection.set_autocommit(True)
            except Error:
                connection.close()


def _check_connection() -> None:
    """Keep a connection that still works: opening one to PostgreSQL takes 6 ms."""
    give_up_transactions()
    for connection in connections.all(initialized_only=True):
        connection.close_at = None
        connection.health_check_enabled = True  # type: ignore[attr-defined]
        connection.close_if_unusable_or_obsolete()


def _renew() -> None:
    """Make a new executor in a forked child, which inherits one without its thread."""
    global _executor
    _executor = _thread()


os.register_at_fork(after_in_child=_renew)
