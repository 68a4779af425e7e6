"""Requirement 003's documents from MOCKLLM_SCENARIOS: every server process gives the same
answers."""

import json
from pathlib import Path

import httpx2
import pytest

from scenarios_app.testing.server import RunningServer, running_server
from tests.engine.turn_scripts import EXAMPLES, script, shipped_scripts, text_response, turn
from tests.serving.modes import WIRES
from tests.serving.turn_scripts.turns import turn_request

pytestmark = pytest.mark.usefixtures("forked_processes")


def fetch_answers(server: RunningServer) -> list[bytes]:
    """Return the answers to the first turn of the shipped scripts, over every wire."""
    answers: list[bytes] = []
    with httpx2.Client(base_url=server.base_url, trust_env=False, timeout=30) as client:
        for wire in WIRES:
            for document in shipped_scripts():
                for stream in (False, True):
                    call = turn_request(
                        wire,
                        document["id"],
                        stream=stream,
                        system="You are on call",
                        tools=("read_metrics", "read_logs"),
                    )
                    response = client.post(call.path, content=call.body, headers=call.headers)
                    answers.append(response.content)
    return answers


def test_a_file_of_scripts_is_served_with_the_same_bytes_by_every_process() -> None:
    transcripts = []
    for seed in ("1", "2"):
        settings = {"MOCKLLM_SCENARIOS": str(EXAMPLES), "PYTHONHASHSEED": seed}
        with running_server(settings=settings) as server:
            transcripts.append(fetch_answers(server))
    assert transcripts[0] == transcripts[1]
    assert any(b"agent__final_report" in answer for answer in transcripts[0])


def test_a_list_in_one_file_and_a_script_given_to_a_running_server(tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_text(json.dumps([script(turn(text_response("from a list")), id="listed")]))
    with (
        running_server(
            scenarios=[script(turn(text_response("given")), id="given")],
        ) as server,
        httpx2.Client(base_url=server.base_url, trust_env=False) as client,
    ):
        assert fetch_text(client, "given") == "given"
    with (
        running_server(settings={"MOCKLLM_SCENARIOS": str(file)}) as server,
        httpx2.Client(base_url=server.base_url, trust_env=False) as client,
    ):
        assert fetch_text(client, "listed") == "from a list"


def fetch_text(client: httpx2.Client, id: str) -> str:
    call = turn_request("openai", id)
    response = client.post(call.path, content=call.body, headers=call.headers)
    content: str = response.json()["choices"][0]["message"]["content"]
    return content
