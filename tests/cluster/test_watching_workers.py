"""`serve --watch` with several workers: one worker watches, and all answer from the new files."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from tests.serving.pipelines import chat
from tests.serving.processes.serve_process import ServerProcess, write_scenarios
from tools.soak.servers import run_shared_server

pytestmark = pytest.mark.timeout(300)
SECONDS = 60.0
REQUESTS = 20


def scenario_with_text(text: str) -> dict[str, object]:
    return {"name": "s", "steps": [{"consume": False, "produce": {"text": text}}]}


def distinct_answers(server: ServerProcess) -> set[str]:
    """Return the distinct answers on separate connections, which reach all workers."""
    call, texts = chat(), set()
    for _ in range(REQUESTS):
        body = httpx2.post(
            f"{server.base_url}{call.path}", content=call.body, headers=dict(call.headers)
        ).json()
        error = body.get("error")
        texts.add(error["message"] if error else body["choices"][0]["message"]["content"])
    return texts


def wait_for_answers(server: ServerProcess, is_expected: Callable[[set[str]], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_expected(texts := distinct_answers(server)):
        assert time.monotonic() < deadline, texts


def test_all_workers_see_changed_files_after_the_watching_one_dies(tmp_path: Path) -> None:
    with run_shared_server(tmp_path, scenario_with_text("0"), workers=2, warm=False) as server:
        workers = sorted(server.children())
        assert len(workers) == 2
        for number, worker in enumerate(workers, start=1):
            write_scenarios(tmp_path, scenario_with_text(str(number)))
            wait_for_answers(server, lambda texts, number=number: texts == {str(number)})
            os.kill(worker, signal.SIGKILL)
        write_scenarios(tmp_path, scenario_with_text("3"))
        wait_for_answers(server, lambda texts: texts == {"3"})
        (tmp_path / "scenarios.json").write_text("{")
        place = "scenarios.json:1:2: not valid JSON"
        deadline = time.monotonic() + SECONDS
        while place not in server.stderr_text:
            assert time.monotonic() < deadline, server.stderr_text
            time.sleep(0.05)
        assert server.stderr_text.count(place) == 1
        assert distinct_answers(server) == {"3"}
        httpx2.delete(f"{server.base_url}/control/scenarios/s").raise_for_status()
        wait_for_answers(server, lambda texts: all(place in text for text in texts))
