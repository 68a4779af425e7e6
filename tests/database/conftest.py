"""The two processes, which all tests of a session tell what to do."""

from collections.abc import Iterator

import pytest

from tests.database.two import Two
from tests.state.outside import postgres_database
from tests.support.line_process import start_process

SCRIPT = "from tests.database.writer import serve\nserve(migrate={})\n"


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    folder = tmp_path_factory.mktemp("two")
    with (
        postgres_database() as address,
        start_process(address, SCRIPT.format(True), folder=folder) as one,
        start_process(address, SCRIPT.format(False), folder=folder) as other,
    ):
        assert one.read_line() == other.read_line() == {"ready": True}
        found = Two(one, other, address=address)
        with found.looking:
            yield found
