"""A SQLite file is locked by another process, or its disk is full."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.line_process import Process, start_process

FILE_NAME = "file.sqlite3"
ROWS = 10
SCRIPT = f"from tests.database.failing_process import serve\nserve(rows={ROWS})\n"
COMPLETE_RESULT = {"flushed": True, "failed": 0, "paths": [f"/{number}" for number in range(ROWS)]}


@pytest.fixture
def writing_process(tmp_path: Path) -> Iterator[Process]:
    with start_process(f"sqlite:///{tmp_path}/{FILE_NAME}", SCRIPT, folder=tmp_path) as process:
        assert process.read_line() == {"ready": True}
        yield process


def test_journal_writes_after_a_lock_of_the_file(writing_process: Process, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as other_connection:
        other_connection.execute("BEGIN IMMEDIATE")
        writing_process.write_line("begin")
        assert writing_process.read_line() == {"problem": "database is locked"}
        other_connection.execute("ROLLBACK")
    writing_process.write_line("go on")
    assert writing_process.read_line() == COMPLETE_RESULT


def test_journal_writes_after_the_disk_was_full(writing_process: Process, tmp_path: Path) -> None:
    full_marker = tmp_path / "full"
    full_marker.touch()
    writing_process.write_line("begin")
    assert writing_process.read_line() == {"problem": "database or disk is full"}
    full_marker.unlink()
    writing_process.write_line("go on")
    assert writing_process.read_line() == COMPLETE_RESULT
