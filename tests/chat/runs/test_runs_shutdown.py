"""SIGTERM while answers are being given: they finish, or end with an error that says why."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.chat.chatting import scenario
from tests.chat.scripts import ENDLESS, calls
from tests.serving.processes.serve_process import Serving, serving, written


@contextmanager
def answering(server: Serving, text: str = "Hello") -> Iterator[Iterator[dict[str, Any]]]:
    """The events of an answer, as a browser gets them."""
    url = f"http://127.0.0.1:{server.port}/api/get_chat_response_stream"
    body = {"client_id": "reader", "message": text, "conversation_id": None, "profile": None}
    with httpx2.stream("POST", url, json=body, timeout=60) as response:
        assert response.status_code == 200, response.read()
        yield (
            json.loads(line.removeprefix("data: "))
            for line in response.iter_lines()
            if line.startswith("data: ")
        )


def until(events: Iterator[dict[str, Any]], type: str) -> None:
    next(event for event in events if event["type"] == type)


@pytest.mark.parametrize("saying", ["chunk", "tool_start"], ids=["the model", "a tool"])
def test_run_that_exceeds_the_drain_time_ends_as_interrupted(tmp_path: Path, saying: str) -> None:
    answer = ENDLESS if saying == "chunk" else calls("slow", seconds=600)
    scenarios = written(tmp_path, scenario(answer))
    variables = {"MOCKLLM_SCENARIOS": scenarios, "MOCKLLM_DRAIN_SECONDS": "1"}
    with serving(tmp_path, warm=True, **variables) as server:
        with answering(server) as events:
            until(events, saying)
            server.process.send_signal(signal.SIGTERM)
            *_, last = events
        code, _, err = server.wait()
    assert (last["type"], last["code"], last["message"]) == (
        "error",
        "SERVICE_UNAVAILABLE",
        "interrupted",
    )
    assert code == 0
    assert "Traceback" not in err


def test_run_that_finishes_within_the_drain_time_is_complete(tmp_path: Path) -> None:
    paced = {"text": "word " * 20, "pacing": {"chunk_ms": 50, "words_per_chunk": 1}}
    with serving(
        tmp_path, warm=True, MOCKLLM_SCENARIOS=written(tmp_path, scenario(paced))
    ) as server:
        with answering(server) as events:
            until(events, "chunk")
            server.process.send_signal(signal.SIGTERM)
            *rest, last = events
        code, _, err = server.wait()
    assert (len(rest), last["type"], code) == (19, "done", 0)
    assert "Traceback" not in err
