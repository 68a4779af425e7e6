"""A failed read of scenarios that another process changed is repeated without a further change."""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.database.process_pair import close_backends, wait_for_blocked
from tests.state.other_process import postgres_database
from tests.support.line_process import Process, start_process

SCRIPT = "from tests.database.polling_process import serve\nserve('before')\n"
INCREASE_NUMBER = "UPDATE scenarios_app_catalogversion SET number = number + 1"
RENAME = "UPDATE scenarios_app_scenario SET name = 'after', version = 'after'"


def serves_change(server: Process) -> bool:
    server.write_line("after")
    return server.read_line() == {"names": ["after"]}


@pytest.mark.parametrize("table", ["scenarios_app_catalogversion", "scenarios_app_scenario"])
def test_read_interrupted_by_sqlite_is_repeated(tmp_path: Path, table: str) -> None:
    path, broken_marker = tmp_path / "shared.sqlite3", tmp_path / "broken"
    with start_process(f"sqlite:///{path}", SCRIPT, folder=tmp_path) as server:
        assert server.read_line() == {"names": ["before"]}
        broken_marker.write_text(table)
        with closing(sqlite3.connect(path, timeout=30)) as other_connection, other_connection:
            other_connection.execute(RENAME)
            other_connection.execute(INCREASE_NUMBER)
        assert server.read_line() == {"problem": "interrupted"}
        broken_marker.unlink()
        assert serves_change(server)


def test_read_on_a_closed_connection_is_repeated(tmp_path: Path) -> None:
    with (
        postgres_database() as address,
        psycopg.connect(address, autocommit=True) as observer,
        start_process(address, SCRIPT, folder=tmp_path) as server,
    ):
        assert server.read_line() == {"names": ["before"]}
        with psycopg.connect(address) as locking_connection:
            locking_connection.execute("LOCK TABLE scenarios_app_scenario IN ACCESS EXCLUSIVE MODE")
            observer.execute(INCREASE_NUMBER)
            blocked = wait_for_blocked(observer, server)
            assert blocked
            close_backends(observer, blocked)
            locking_connection.execute(RENAME)
        assert serves_change(server)
