"""Two processes on one PostgreSQL database, and the moment at which one of them is stopped."""

import json
from collections.abc import Iterable
from select import select
from typing import Any, TypeAlias

import psycopg
import pytest

from tests.support.line_process import Process

OTHERS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
BLOCKED = f"{OTHERS} AND cardinality(pg_blocking_pids(pid)) > 0"
Connection: TypeAlias = "psycopg.Connection[Any]"

MOMENT = 0.01
LOOKS = 3_000


class Two:
    """Two processes, and a look at who waits for whom in their database."""

    def __init__(self, one: Process, other: Process, *, address: str) -> None:
        self._one = one
        self._other = other
        self._address = address
        self.looking = psycopg.connect(address, autocommit=True)

    def do(self, what: str, *, by_other: bool = False, **arguments: Any) -> dict[str, Any]:
        """Have it done at once, by the one or by the other."""
        process = self._other if by_other else self._one
        _ask(process, what, arguments)
        return process.read_line()

    def meanwhile(
        self, one: tuple[str, dict[str, Any]], other: tuple[str, dict[str, Any]], *, hold: str
    ) -> list[dict[str, Any]]:
        """Stop the one before its statement `hold`, until the other is through with its own or
        waits for a lock; what came of each."""
        _ask(self._one, *one, hold=hold)
        assert self._one.read_line() == {"held": True}
        _ask(self._other, *other)
        until_somebody_waits(self.looking, self._other)
        self._one.write_line("go on")
        return [self._one.read_line(), self._other.read_line()]

    def cut_off(self, what: str, *, at: str, **arguments: Any) -> dict[str, Any]:
        """Have it done by the one, whose connection the server closes when it comes to a table."""
        # On a separate connection: within a transaction, the list of waiting locks does not change.
        with psycopg.connect(self._address) as locking:
            locking.execute(f'LOCK TABLE "{at}" IN ACCESS EXCLUSIVE MODE')
            _ask(self._one, what, arguments)
            waiting = until_somebody_waits(self.looking, self._one)
            assert waiting, f"it never came to {at}"
            close_backends(self.looking, waiting)
        return self._one.read_line()

    def close_all(self) -> None:
        """Close the connections of both processes, as a server does that starts anew."""
        close_backends(self.looking, [row[0] for row in self.looking.execute(OTHERS)])


def close_backends(looking: Connection, backends: Iterable[int]) -> None:
    """Close connections from the server's side; they are gone when this returns."""
    for pid in backends:
        looking.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])


def until_somebody_waits(looking: Connection, process: Process) -> list[int]:
    """Whoever waits for a lock, as soon as somebody does; none if the process is through."""
    for _ in range(LOOKS):
        if blocked := [row[0] for row in looking.execute(BLOCKED)]:
            return blocked
        if select([process.process.stdout], [], [], MOMENT)[0]:
            return []
    pytest.fail("it neither waits for a lock nor ends")


def _ask(process: Process, what: str, arguments: dict[str, Any], hold: str | None = None) -> None:
    process.write_line(json.dumps({"what": what, "arguments": arguments, "hold": hold}))
