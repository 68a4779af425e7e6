"""SIGTERM during answers: they finish in time or end as interrupted."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.chat.chat_helpers import scenario
from tests.chat.scripts import ENDLESS, call_tool
from tests.serving.processes.serve_process import ServerProcess, run_server, write_scenarios


@contextmanager
def open_answer(server: ServerProcess, text: str = "Hello") -> Iterator[Iterator[dict[str, Any]]]:
    """Send a message and yield the events of its stream."""
    url = f"http://127.0.0.1:{server.port}/api/get_chat_response_stream"
    body = {"client_id": "reader", "message": text, "conversation_id": None, "profile": None}
    with httpx2.stream("POST", url, json=body, timeout=60) as response:
        assert response.status_code == 200, response.read()
        yield (
            json.loads(line.removeprefix("data: "))
            for line in response.iter_lines()
            if line.startswith("data: ")
        )


def skip_to(events: Iterator[dict[str, Any]], type: str) -> None:
    next(event for event in events if event["type"] == type)


@pytest.mark.parametrize("event_type", ["chunk", "tool_start"], ids=["the model", "a tool"])
def test_run_that_exceeds_the_drain_time_ends_as_interrupted(
    tmp_path: Path, event_type: str
) -> None:
    answer = ENDLESS if event_type == "chunk" else call_tool("slow", seconds=600)
    scenarios = write_scenarios(tmp_path, scenario(answer))
    variables = {"MOCKLLM_SCENARIOS": scenarios, "MOCKLLM_DRAIN_SECONDS": "1"}
    with run_server(tmp_path, warm=True, **variables) as server:
        with open_answer(server) as events:
            skip_to(events, event_type)
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
    paced_answer = {"text": "word " * 20, "pacing": {"chunk_ms": 50, "words_per_chunk": 1}}
    with run_server(
        tmp_path, warm=True, MOCKLLM_SCENARIOS=write_scenarios(tmp_path, scenario(paced_answer))
    ) as server:
        with open_answer(server) as events:
            skip_to(events, "chunk")
            server.process.send_signal(signal.SIGTERM)
            *rest, last = events
        code, _, err = server.wait()
    assert (len(rest), last["type"], code) == (19, "done", 0)
    assert "Traceback" not in err
