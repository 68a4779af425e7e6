"""Another process changes a scenario, and the read that is to see it fails: it is made again, and
needs no further change for that."""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.database.two import close_backends, until_somebody_waits
from tests.state.outside import postgres_database
from tests.support.line_process import Process, start_process

SCRIPT = "from tests.database.polling import serve\nserve('before')\n"
MOVE_ON = "UPDATE scenarios_app_catalogversion SET number = number + 1"
RENAME = "UPDATE scenarios_app_scenario SET name = 'after', version = 'after'"


def seen(server: Process) -> bool:
    server.write_line("after")
    return server.read_line() == {"names": ["after"]}


@pytest.mark.parametrize("table", ["scenarios_app_catalogversion", "scenarios_app_scenario"])
def test_a_read_that_sqlite_breaks_off_is_made_again(tmp_path: Path, table: str) -> None:
    path, broken = tmp_path / "shared.sqlite3", tmp_path / "broken"
    with start_process(f"sqlite:///{path}", SCRIPT, folder=tmp_path) as server:
        assert server.read_line() == {"names": ["before"]}
        broken.write_text(table)
        with closing(sqlite3.connect(path, timeout=30)) as other, other:
            other.execute(RENAME)
            other.execute(MOVE_ON)
        assert server.read_line() == {"problem": "interrupted"}
        broken.unlink()
        assert seen(server)


def test_a_read_whose_connection_is_closed_is_made_again(tmp_path: Path) -> None:
    with (
        postgres_database() as address,
        psycopg.connect(address, autocommit=True) as looking,
        start_process(address, SCRIPT, folder=tmp_path) as server,
    ):
        assert server.read_line() == {"names": ["before"]}
        with psycopg.connect(address) as other:
            other.execute("LOCK TABLE scenarios_app_scenario IN ACCESS EXCLUSIVE MODE")
            looking.execute(MOVE_ON)
            waiting = until_somebody_waits(looking, server)
            assert waiting
            close_backends(looking, waiting)
            other.execute(RENAME)
        assert seen(server)
