"""Databases that other processes can reach, and a journal that is stopped after its test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios_app.journal import Journal
from tests.state.other_process import postgres_database
from tests.support import migrated_database


@pytest.fixture(params=["sqlite", "postgres"])
def shared_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        migrated_database.copy_to(tmp_path / "shared.sqlite3")
        yield f"sqlite:///{tmp_path}/shared.sqlite3"
    else:
        with postgres_database() as address:
            yield address


@pytest.fixture
def journal(transactional_db: None) -> Iterator[Journal]:
    journal = Journal()
    yield journal
    journal.stop()
