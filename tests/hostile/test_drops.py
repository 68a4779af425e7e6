"""Clients that leave during an answer are journalled and leave no task or open stream behind."""

import json
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from scenarios_app.serving.services import services
from tests.hostile.provider_requests import ANTHROPIC, CHAT, GEMINI, LOCAL, MESSAGES, OLLAMA, OPENAI
from tests.hostile.raw import encode_request, send_bytes
from tests.serving.pipelines import scenario, text_step
from tests.support.live_server import Live

WORDS = [f"word{i}" for i in range(12)]
# The number of sent pieces after which the server stalls.
BOUNDARIES = range(len(WORDS) + 1)
WAIT_SECONDS = 10.0
# The last value is the beginning of an answer without content; some have only a head.
PROVIDERS = {
    "openai": (CHAT, OPENAI, b"data: "),
    "anthropic": (MESSAGES, ANTHROPIC, b"event: "),
    "gemini": ("/v1beta/models", GEMINI, b"\r\n\r\n"),
    "ollama": (LOCAL, OLLAMA, b"\r\n\r\n"),
}


def stalling_scenario(pieces: int) -> dict[str, Any]:
    """Return a scenario that stalls after some pieces and sends no more while a test runs."""
    fault = {"kind": "stall", "after_chunks": pieces, "hold_ms": 600_000}
    produce = {"text": " ".join(WORDS), "pacing": {"words_per_chunk": 1}, "fault": fault}
    match = {"model": f"silent-{pieces}"}
    return scenario(f"silent {pieces}", {"consume": False, "match": match, "produce": produce})


@pytest.fixture
def named_live(live: Live) -> Live:
    """The server with a session named by a header, since each client has another key."""
    return replace(live, name=f"drops-{live.key}")


def open_request(live: Live, provider: str, model: str, *, stream: bool = True) -> socket.socket:
    """Send a request and return its socket before anything is read."""
    path, headers, _ = PROVIDERS[provider]
    body: dict[str, Any] = {"model": model, "max_tokens": 9, "stream": stream}
    body["messages"] = [{"role": "user", "content": "Hello"}]
    if provider == "gemini":
        path += f"/{model}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}"
        body = {"contents": [{"parts": [{"text": "Hello"}]}]}
    data = json.dumps(body).encode()
    session_header = {"X-MockLLM-Session": live.session}
    sock = socket.create_connection(("127.0.0.1", live.port), WAIT_SECONDS)
    sock.sendall(encode_request("POST", path, data, headers={**headers, **session_header}))
    return sock


def read_until(sock: socket.socket, enough: Callable[[bytes], bool]) -> bytes:
    data = b""
    while not enough(data):
        piece = sock.recv(65_536)
        assert piece, data
        data += piece
    return data


def leave(sock: socket.socket, *, reset: bool) -> None:
    """Close a socket, by a TCP reset as of a killed process if `reset`."""
    if reset:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def wait_until(is_reached: Callable[[], bool]) -> bool:
    """Return whether the condition became true within WAIT_SECONDS."""
    end = time.monotonic() + WAIT_SECONDS
    while not is_reached():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def assert_nothing_stays(live: Live, tasks: int) -> None:
    assert wait_until(lambda: live.server.tasks() <= tasks), f"{live.server.tasks()} tasks"
    assert services().pipeline.streams.taken == 0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_client_that_leaves_at_any_boundary_is_journalled(named_live: Live, provider: str) -> None:
    named_live.load(*map(stalling_scenario, BOUNDARIES), scenario("fine", text_step("Fine.")))
    begin_mark = PROVIDERS[provider][2]
    tasks = named_live.server.tasks()
    for reset in (False, True):
        for pieces in BOUNDARIES:
            sock = open_request(named_live, provider, f"silent-{pieces}")
            last = WORDS[pieces - 1].encode() if pieces else begin_mark
            read_until(sock, lambda data, last=last: last in data)
            leave(sock, reset=reset)
    assert_nothing_stays(named_live, tasks)
    rows = named_live.requests()
    assert len(rows) == 2 * len(BOUNDARIES)
    assert {row.outcome for row in rows} == {"client_gone"}
    for row in rows:
        pieces = int(row.scenario.removeprefix("silent "))
        assert row.status == 200 and row.streamed
        assert [word for word in WORDS if f"{word}" in words_of(row.response_body)] == (
            WORDS[:pieces]
        )


def words_of(body: str) -> set[str]:
    """Return the words of a body; a word is no prefix of a longer one."""
    return set(body.replace('"', " ").split())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_client_that_leaves_before_its_answer_is_journalled(
    named_live: Live, provider: str
) -> None:
    late_step = text_step("Late.")
    late_step["produce"]["latency_ms"] = 600_000
    held_step = {"consume": False, "produce": {"fault": {"kind": "timeout", "hold_ms": 600_000}}}
    named_live.load(
        scenario("late", {**late_step, "match": {"model": "late"}}),
        scenario("held", {**held_step, "match": {"model": "held"}}),
    )
    tasks = named_live.server.tasks()
    socks = [
        open_request(named_live, provider, model, stream=stream)
        for model in ("late", "held")
        for stream in (False, True)
    ]
    assert wait_until(lambda: named_live.state().ordinal == len(socks))
    for i, sock in enumerate(socks):
        leave(sock, reset=i % 2 == 1)
    assert_nothing_stays(named_live, tasks)
    assert [row.outcome for row in named_live.requests()] == ["client_gone"] * len(socks)


def test_client_that_leaves_within_its_request_is_not_journalled(named_live: Live) -> None:
    tasks = named_live.server.tasks()
    data = encode_request("POST", CHAT, b"{" * 1_000, headers=OPENAI)
    for cut in (1, 20, len(data) // 4, len(data) - 1):
        with socket.create_connection(("127.0.0.1", named_live.port), WAIT_SECONDS) as sock:
            sock.sendall(data[:cut])
    assert_nothing_stays(named_live, tasks)
    assert named_live.requests() == []


def test_the_next_client_is_served_while_others_are_stuck(named_live: Live) -> None:
    named_live.load(
        stalling_scenario(3), scenario("fine", {**text_step("Fine."), "match": {"model": "f"}})
    )
    tasks = named_live.server.tasks()
    stuck = [open_request(named_live, "openai", "silent-3") for _ in range(50)]
    for sock in stuck:
        read_until(sock, lambda data: b"word2" in data)
    body = json.dumps({"model": "f", "messages": [{"role": "user", "content": "x"}]}).encode()
    answer = send_bytes(named_live.port, encode_request("POST", CHAT, body, headers=OPENAI))
    assert answer.status == 200
    for sock in stuck:
        leave(sock, reset=False)
    assert_nothing_stays(named_live, tasks)
