"""A SQLite file that nothing can be written to for a while: another process has it locked, or the
disk is full."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.line_process import Process, start_process

NAME = "file.sqlite3"
ROWS = 10
SCRIPT = f"from tests.database.failing import serve\nserve(rows={ROWS})\n"
ALL = {"flushed": True, "failed": 0, "paths": [f"/{number}" for number in range(ROWS)]}


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[Process]:
    with start_process(f"sqlite:///{tmp_path}/{NAME}", SCRIPT, folder=tmp_path) as process:
        assert process.read_line() == {"ready": True}
        yield process


def test_the_journal_writes_when_the_file_is_not_locked_any_more(
    writing: Process, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        writing.write_line("begin")
        assert writing.read_line() == {"problem": "database is locked"}
        other.execute("ROLLBACK")
    writing.write_line("go on")
    assert writing.read_line() == ALL


def test_the_journal_writes_when_there_is_room_again(writing: Process, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.touch()
    writing.write_line("begin")
    assert writing.read_line() == {"problem": "database or disk is full"}
    full.unlink()
    writing.write_line("go on")
    assert writing.read_line() == ALL
