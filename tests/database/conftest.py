"""The two processes on one database, which all tests of a session share."""

from collections.abc import Iterator

import pytest

from tests.database.process_pair import ProcessPair
from tests.state.other_process import postgres_database
from tests.support.line_process import start_process

SCRIPT = "from tests.database.writer_process import serve\nserve(migrate={})\n"


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessPair]:
    folder = tmp_path_factory.mktemp("two")
    with (
        postgres_database() as address,
        start_process(address, SCRIPT.format(True), folder=folder) as first_process,
        start_process(address, SCRIPT.format(False), folder=folder) as second_process,
    ):
        assert first_process.read_line() == second_process.read_line() == {"ready": True}
        pair = ProcessPair(first_process, second_process, address=address)
        with pair.observer:
            yield pair
