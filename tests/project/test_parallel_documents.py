"""What describes the APIs, asked of a fresh process by many clients at the same moment."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection
from threading import Barrier

import pytest

from tests.serving.processes.serve_process import serving

DOCUMENTS = ("/api/schema/", "/control/schema/", "/control/schema/scenario.json")
PAGES = ("/api/docs/", "/control/docs/")
# Enough parallel requests that most of them failed before.
ASKED = (*DOCUMENTS, *PAGES) * 4


@dataclass(frozen=True)
class Asked:
    """The answers as path, status and body, and what the process said on standard error."""

    answers: list[tuple[str, int, bytes]]
    said: str


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    together = Barrier(len(ASKED))

    def ask(path: str) -> tuple[str, int, bytes]:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
        try:
            connection.connect()
            together.wait(60)
            connection.request("GET", path)
            answer = connection.getresponse()
            return path, answer.status, answer.read()
        finally:
            connection.close()

    with (
        serving(tmp_path_factory.mktemp("fresh")) as server,
        ThreadPoolExecutor(len(ASKED)) as clients,
    ):
        answers = list(clients.map(ask, ASKED))
        _, _, said = server.end()
    return Asked(answers, said)


def test_all_get_what_they_ask_for(asked: Asked) -> None:
    assert [(path, status) for path, status, _ in asked.answers] == [(path, 200) for path in ASKED]


def test_all_get_the_same_documents(asked: Asked) -> None:
    bodies = {(path, body) for path, _, body in asked.answers if path in DOCUMENTS}
    assert len(bodies) == len(DOCUMENTS)


def test_nothing_is_warned_of(asked: Asked) -> None:
    assert "Warning" not in asked.said
