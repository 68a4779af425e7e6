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
    """Run `work` in the thread that runs use the database from, and give back what it returns.

    A thread of their own, because that of a web request ends with the request, and a run goes on.
    `work` does no other I/O: in memory, an open transaction keeps everyone else waiting.
    """

    def run() -> T:
        refuse_open_test_transaction()
        _check_connection()
        return work()

    return await asyncio.get_running_loop().run_in_executor(_executor, run)


def close_connection() -> None:
    """Close that thread's connection; the next work opens another."""
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
    """Keep a working connection: opening one takes PostgreSQL 6 ms, like a batch of events."""
    give_up_transactions()
    for connection in connections.all(initialized_only=True):
        connection.close_at = None
        connection.health_check_enabled = True  # type: ignore[attr-defined]
        connection.close_if_unusable_or_obsolete()


def _renew() -> None:
    """A forked child has its parent's executor, but not the thread in it."""
    global _executor
    _executor = _thread()


os.register_at_fork(after_in_child=_renew)
