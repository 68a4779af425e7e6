"""`serve --watch` with several workers: one watches, all answer from the new files."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from tests.serving.pipelines import chat
from tests.serving.processes.serve_process import Serving, written
from tools.soak.servers import shared

pytestmark = pytest.mark.timeout(300)
SECONDS = 60.0
REQUESTS = 20


def says(text: str) -> dict[str, object]:
    return {"name": "s", "steps": [{"consume": False, "produce": {"text": text}}]}


def answers(server: Serving) -> set[str]:
    """Return the different answers to requests on separate connections, which reach all workers."""
    call, texts = chat(), set()
    for _ in range(REQUESTS):
        body = httpx2.post(
            f"{server.base_url}{call.path}", content=call.body, headers=dict(call.headers)
        ).json()
        error = body.get("error")
        texts.add(error["message"] if error else body["choices"][0]["message"]["content"])
    return texts


def eventually(server: Serving, is_expected: Callable[[set[str]], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not is_expected(texts := answers(server)):
        assert time.monotonic() < until, texts


def test_files_stay_live_in_all_workers_when_the_watching_one_dies(tmp_path: Path) -> None:
    with shared(tmp_path, says("0"), workers=2, warm=False) as server:
        workers = sorted(server.children())
        assert len(workers) == 2
        for number, worker in enumerate(workers, start=1):
            written(tmp_path, says(str(number)))
            eventually(server, lambda texts, number=number: texts == {str(number)})
            os.kill(worker, signal.SIGKILL)
        written(tmp_path, says("3"))
        eventually(server, lambda texts: texts == {"3"})
        (tmp_path / "scenarios.json").write_text("{")
        place = "scenarios.json:1:2: not valid JSON"
        until = time.monotonic() + SECONDS
        while place not in server.said:
            assert time.monotonic() < until, server.said
            time.sleep(0.05)
        assert server.said.count(place) == 1
        assert answers(server) == {"3"}
        httpx2.delete(f"{server.base_url}/control/scenarios/s").raise_for_status()
        eventually(server, lambda texts: all(place in text for text in texts))
