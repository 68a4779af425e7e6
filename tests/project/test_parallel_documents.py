"""Descriptions of the APIs that many clients request from a new process simultaneously."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection
from threading import Barrier

import pytest

from tests.serving.processes.serve_process import run_server

DOCUMENTS = ("/api/schema/", "/control/schema/", "/control/schema/scenario.json")
PAGES = ("/api/docs/", "/control/docs/")
# Enough parallel requests that most of them failed before.
PATHS = (*DOCUMENTS, *PAGES) * 4


@dataclass(frozen=True)
class ParallelRun:
    """The answers as path, status and body, and the process's standard error."""

    answers: list[tuple[str, int, bytes]]
    stderr: str


@pytest.fixture(scope="module")
def parallel_run(tmp_path_factory: pytest.TempPathFactory) -> ParallelRun:
    barrier = Barrier(len(PATHS))

    def send_request(path: str) -> tuple[str, int, bytes]:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
        try:
            connection.connect()
            barrier.wait(60)
            connection.request("GET", path)
            response = connection.getresponse()
            return path, response.status, response.read()
        finally:
            connection.close()

    with (
        run_server(tmp_path_factory.mktemp("fresh")) as server,
        ThreadPoolExecutor(len(PATHS)) as clients,
    ):
        answers = list(clients.map(send_request, PATHS))
        _, _, stderr = server.end()
    return ParallelRun(answers, stderr)


def test_parallel_requests_get_status_200(parallel_run: ParallelRun) -> None:
    assert [(path, status) for path, status, _ in parallel_run.answers] == [
        (path, 200) for path in PATHS
    ]


def test_parallel_requests_get_the_same_documents(parallel_run: ParallelRun) -> None:
    bodies = {(path, body) for path, _, body in parallel_run.answers if path in DOCUMENTS}
    assert len(bodies) == len(DOCUMENTS)


def test_parallel_requests_cause_no_warning(parallel_run: ParallelRun) -> None:
    assert "Warning" not in parallel_run.stderr
