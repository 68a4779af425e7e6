"""Two processes on one PostgreSQL database; a test stops one at a given statement."""

import json
from collections.abc import Iterable
from select import select
from typing import Any, TypeAlias

import psycopg
import pytest

from tests.support.line_process import Process

OTHER_BACKENDS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
BLOCKED_BACKENDS = f"{OTHER_BACKENDS} AND cardinality(pg_blocking_pids(pid)) > 0"
Connection: TypeAlias = "psycopg.Connection[Any]"

POLL_SECONDS = 0.01
MAX_POLLS = 3_000


class ProcessPair:
    """Two processes, and a connection that observes the locks of their database."""

    def __init__(self, first: Process, second: Process, *, address: str) -> None:
        self._first = first
        self._second = second
        self._address = address
        self.observer = psycopg.connect(address, autocommit=True)

    def run(self, operation: str, *, by_other: bool = False, **arguments: Any) -> dict[str, Any]:
        """Run an operation in the first process, or in the second with `by_other`."""
        process = self._second if by_other else self._first
        _send_operation(process, operation, arguments)
        return process.read_line()

    def run_concurrently(
        self, first: tuple[str, dict[str, Any]], second: tuple[str, dict[str, Any]], *, hold: str
    ) -> list[dict[str, Any]]:
        """Stop the first process before its statement `hold`, and run the second operation.

        The first continues when the second has ended or waits for a lock. Return both results.
        """
        _send_operation(self._first, *first, hold=hold)
        assert self._first.read_line() == {"held": True}
        _send_operation(self._second, *second)
        wait_for_blocked(self.observer, self._second)
        self._first.write_line("go on")
        return [self._first.read_line(), self._second.read_line()]

    def run_with_closed_connection(
        self, operation: str, *, table: str, **arguments: Any
    ) -> dict[str, Any]:
        """Run an operation whose connection the server closes when it waits for a table."""
        # On a separate connection: within a transaction, the list of waiting locks does not change.
        with psycopg.connect(self._address) as locking_connection:
            locking_connection.execute(f'LOCK TABLE "{table}" IN ACCESS EXCLUSIVE MODE')
            _send_operation(self._first, operation, arguments)
            blocked = wait_for_blocked(self.observer, self._first)
            assert blocked, f"it never came to {table}"
            close_backends(self.observer, blocked)
        return self._first.read_line()

    def close_connections(self) -> None:
        """Close the connections of both processes, as a restarted server does."""
        close_backends(self.observer, [row[0] for row in self.observer.execute(OTHER_BACKENDS)])


def close_backends(observer: Connection, backends: Iterable[int]) -> None:
    """Close connections from the server's side, and wait until they are gone."""
    for pid in backends:
        observer.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])


def wait_for_blocked(observer: Connection, process: Process) -> list[int]:
    """Return the backends that wait for a lock, or none if the process has answered."""
    for _ in range(MAX_POLLS):
        if blocked := [row[0] for row in observer.execute(BLOCKED_BACKENDS)]:
            return blocked
        if select([process.process.stdout], [], [], POLL_SECONDS)[0]:
            return []
    pytest.fail("it neither waits for a lock nor ends")


def _send_operation(
    process: Process, operation: str, arguments: dict[str, Any], hold: str | None = None
) -> None:
    process.write_line(json.dumps({"operation": operation, "arguments": arguments, "hold": hold}))
