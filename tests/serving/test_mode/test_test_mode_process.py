"""Requirement 000, R1 and R7: processes in test mode, which give the same bytes."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mockllm_site.management.commands.serve import Command
from scenarios_app.testing.server import RunningServer, running_server
from tests.project import processes
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName, with_marks
from tests.serving.test_mode.block_answers import MIXED, SEARCH

pytestmark = pytest.mark.usefixtures("forked_processes")

UNPACED = {"MOCKLLM_WORDS_PER_SECOND": "0"}
# Our only header without a promise of equality, and the HTTP server's clock.
VARYING = {"x-mockllm-request", "date"}
PROBES = {"messages": [{"request_params_echo": {}}, {"tools_echo": {}}, {"request_url_echo": {}}]}
INVALID_BLOCK = {"messages": [{"nothing": {}}]}
TEXTS = [
    "Hello",
    "Größe?\nReason: “why” 🙂",
    *map(with_marks, (MIXED, SEARCH, PROBES, INVALID_BLOCK)),
    with_marks({**MIXED, "cancel_after_chunks": 3}),
]


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(settings=UNPACED, catch_all=True) as process:
        yield process


def send_chat(url: str, wire: WireName, text: str, **fields: Any) -> httpx2.Response:
    call = DIALECTS[wire].call(text, model="m", max_tokens=9, tools=[], **fields)
    with httpx2.Client(base_url=url, trust_env=False) as client:
        return client.post(call.path, content=call.body, headers=dict(call.headers))


def fetch_responses(url: str) -> list[tuple[int, list[tuple[str, str]], bytes]]:
    """Return the responses to a sequence of requests in one session."""
    responses = []
    for text in TEXTS:
        for wire in WIRES:
            for stream in (True, False):
                answer = send_chat(url, wire, text, stream=stream)
                headers = [(k, v) for k, v in answer.headers.items() if k not in VARYING]
                responses.append((answer.status_code, sorted(headers), answer.content))
    return responses


@pytest.mark.parametrize("environment", ["test", "Test", "TEST"])
def test_r1_1_the_environment_chooses_the_test_settings(environment: str, tmp_path: Path) -> None:
    chosen = processes.inspect_process(cwd=tmp_path, variables={"MOCKLLM_ENV": environment})
    assert chosen["environ"]["DJANGO_SETTINGS_MODULE"] == "mockllm_site.settings_test"
    assert chosen["settings"]["MOCKLLM_ENV"] == "test"


def test_r7_1_the_database_is_in_memory_and_clean_at_start(tmp_path: Path) -> None:
    chosen = processes.settings(cwd=tmp_path, variables={"MOCKLLM_ENV": "test"})
    assert chosen["DATABASES"]["default"]["NAME"] == "file:/mockllm?vfs=memdb"
    own = {"name": "own", "steps": [{"consume": False, "produce": {"text": "mine"}}]}
    with running_server([own], catch_all=True) as first:
        completion = send_chat(first.base_url, "openai", "Hello").json()
        assert completion["choices"][0]["message"]["content"] == "mine"
    with running_server(settings=UNPACED, catch_all=True) as second:
        completion = send_chat(second.base_url, "openai", "Hello").json()
        assert completion["choices"][0]["message"]["content"].endswith(" Hello")


def test_r7_2_it_listens_on_5099_of_this_machine_in_plain_http(tmp_path: Path) -> None:
    chosen = processes.settings(cwd=tmp_path, variables={"MOCKLLM_ENV": "test"})
    assert chosen["MOCKLLM_PORT"] == 5099
    assert chosen["SECURE_SSL_REDIRECT"] is False
    defaults = Command().create_parser("manage.py", "serve").parse_args([])
    assert (defaults.host, defaults.port) == ("127.0.0.1", 5099)


def test_r7_2_nothing_is_redirected_to_https(server: RunningServer) -> None:
    with httpx2.Client(base_url=server.base_url, trust_env=False) as client:
        answer = client.get("/healthz")
    assert answer.status_code == 200
    assert "strict-transport-security" not in answer.headers


@pytest.mark.parametrize("wire", WIRES)
def test_the_catch_all_is_there_in_test_mode(server: RunningServer, wire: WireName) -> None:
    answer = send_chat(server.base_url, wire, "Hello", stream=True)
    assert (answer.status_code, answer.headers["x-mockllm-scenario"]) == (200, "test-mode")


def test_a_server_may_start_without_the_catch_all() -> None:
    with running_server() as server:
        assert send_chat(server.base_url, "openai", "Hello").status_code == 404
        block = with_marks({"messages": [{"text": "in band"}]})
        assert send_chat(server.base_url, "openai", block).status_code == 200


def test_r8_2_the_settings_of_test_mode_come_from_the_environment() -> None:
    variables = {
        **UNPACED,
        "MOCKLLM_CANCEL_AFTER_CHUNKS": "1",
        "MOCKLLM_INBAND": "false",
    }
    block = with_marks({"messages": [{"text": "in band"}]})
    with running_server(settings=variables, catch_all=True) as server:
        answer = send_chat(server.base_url, "openai", block, stream=True)
    assert answer.headers["x-mockllm-scenario"] == "test-mode"
    assert b"[DONE]" not in answer.content
    chunks = [json.loads(line[6:]) for line in answer.text.split("\n\n") if line]
    assert sum("content" in chunk["choices"][0]["delta"] for chunk in chunks[1:]) == 1


def test_two_processes_say_the_same_bytes_whatever_their_hash_seed() -> None:
    transcripts = []
    for hash_seed in ("1", "4242"):
        variables = {**UNPACED, "PYTHONHASHSEED": hash_seed}
        with running_server(settings=variables, catch_all=True) as server:
            transcripts.append(fetch_responses(server.base_url))
    first, second = transcripts
    assert first == second
    assert {status for status, _, _ in first} == {200, 400}
    assert len(first) == 2 * len(WIRES) * len(TEXTS)


def test_lorem_is_the_same_with_another_hash_seed() -> None:
    code = (
        "from scenarios_app.engine.producing.lorem import lorem_answer\n"
        "import hashlib\n"
        "print(hash('Hello'), hashlib.sha256(repr(lorem_answer('Hello')).encode()).hexdigest())"
    )
    outputs = [
        processes.run(
            sys.executable,
            "-c",
            code,
            cwd=Path(__file__).parents[3],
            variables={"PYTHONHASHSEED": seed},
        ).stdout.split()
        for seed in ("1", "4242")
    ]
    assert outputs[0][0] != outputs[1][0]
    assert outputs[0][1] == outputs[1][1]


def test_the_url_probe_sees_the_query_as_it_was_sent(server: RunningServer) -> None:
    block = with_marks({"messages": [{"request_url_echo": {}}]})
    call = DIALECTS["anthropic"].call(block)
    path = "/v1/messages?beta=true&x=%41&x=b&empty"
    with httpx2.Client(base_url=server.base_url, trust_env=False) as client:
        answer = client.post(path, content=call.body, headers=dict(call.headers))
    assert answer.json()["content"] == [{"type": "text", "text": path}]
