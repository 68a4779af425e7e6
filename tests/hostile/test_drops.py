"""Clients that leave in mid-answer: noticed, journalled, and nothing of theirs stays behind."""

import json
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from scenarios_app.serving.services import services
from tests.hostile.asked_ways import ANTHROPIC, CHAT, GEMINI, LOCAL, MESSAGES, OLLAMA, OPENAI
from tests.hostile.raw import exchange, message
from tests.serving.pipelines import says, scenario
from tests.support.live_server import Live

WORDS = [f"word{i}" for i in range(12)]
# The number of sent pieces after which the server falls silent.
BOUNDARIES = range(len(WORDS) + 1)
PATIENCE = 10.0
# The last value is the beginning of an answer without content; some have only a head.
WAYS = {
    "openai": (CHAT, OPENAI, b"data: "),
    "anthropic": (MESSAGES, ANTHROPIC, b"event: "),
    "gemini": ("/v1beta/models", GEMINI, b"\r\n\r\n"),
    "ollama": (LOCAL, OLLAMA, b"\r\n\r\n"),
}


def silent_after(pieces: int) -> dict[str, Any]:
    """A scenario that stops in mid-stream and never goes on while a test runs."""
    fault = {"kind": "stall", "after_chunks": pieces, "hold_ms": 600_000}
    produce = {"text": " ".join(WORDS), "pacing": {"words_per_chunk": 1}, "fault": fault}
    match = {"model": f"silent-{pieces}"}
    return scenario(f"silent {pieces}", {"consume": False, "match": match, "produce": produce})


@pytest.fixture
def either_live(either_live: Live) -> Live:
    """The server with a session that a header names, since each client has a key of its own."""
    return replace(either_live, name=f"drops-{either_live.key}")


def begin(live: Live, provider: str, model: str, *, stream: bool = True) -> socket.socket:
    path, headers, _ = WAYS[provider]
    body: dict[str, Any] = {"model": model, "max_tokens": 9, "stream": stream}
    body["messages"] = [{"role": "user", "content": "Hello"}]
    if provider == "gemini":
        path += f"/{model}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}"
        body = {"contents": [{"parts": [{"text": "Hello"}]}]}
    data = json.dumps(body).encode()
    session = {"X-MockLLM-Session": live.session}
    sock = socket.create_connection(("127.0.0.1", live.port), PATIENCE)
    sock.sendall(message("POST", path, data, headers={**headers, **session}))
    return sock


def read_until(sock: socket.socket, enough: Callable[[bytes], bool]) -> bytes:
    seen = b""
    while not enough(seen):
        piece = sock.recv(65_536)
        assert piece, seen
        seen += piece
    return seen


def leave(sock: socket.socket, *, reset: bool) -> None:
    """Close politely, or as a process does that is killed with unread data."""
    if reset:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def until(reached: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not reached():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def assert_nothing_stays(live: Live, tasks: int) -> None:
    assert until(lambda: live.server.tasks() <= tasks), f"{live.server.tasks()} tasks"
    assert services().pipeline.streams.open == 0


@pytest.mark.parametrize("provider", WAYS)
def test_a_client_may_leave_at_every_boundary(either_live: Live, provider: str) -> None:
    either_live.load(*map(silent_after, BOUNDARIES), scenario("fine", says("Fine.")))
    begin_mark = WAYS[provider][2]
    tasks = either_live.server.tasks()
    for reset in (False, True):
        for pieces in BOUNDARIES:
            sock = begin(either_live, provider, f"silent-{pieces}")
            last = WORDS[pieces - 1].encode() if pieces else begin_mark
            read_until(sock, lambda seen, last=last: last in seen)  # type: ignore[misc]
            leave(sock, reset=reset)
    assert_nothing_stays(either_live, tasks)
    rows = either_live.requests()
    assert len(rows) == 2 * len(BOUNDARIES)
    assert {row.outcome for row in rows} == {"client_gone"}
    for row in rows:
        pieces = int(row.scenario.removeprefix("silent "))
        assert row.status == 200 and row.streamed
        assert [word for word in WORDS if f"{word}" in words_of(row.response_body)] == (
            WORDS[:pieces]
        )


def words_of(body: str) -> set[str]:
    """The words that were sent, without those that are the beginning of longer ones."""
    return set(body.replace('"', " ").split())


@pytest.mark.parametrize("provider", WAYS)
def test_a_client_may_leave_before_its_answer(either_live: Live, provider: str) -> None:
    late = says("Late.")
    late["produce"]["latency_ms"] = 600_000
    held = {"consume": False, "produce": {"fault": {"kind": "timeout", "hold_ms": 600_000}}}
    either_live.load(
        scenario("late", {**late, "match": {"model": "late"}}),
        scenario("held", {**held, "match": {"model": "held"}}),
    )
    tasks = either_live.server.tasks()
    socks = [
        begin(either_live, provider, model, stream=stream)
        for model in ("late", "held")
        for stream in (False, True)
    ]
    assert until(lambda: either_live.state().ordinal == len(socks))
    for i, sock in enumerate(socks):
        leave(sock, reset=i % 2 == 1)
    assert_nothing_stays(either_live, tasks)
    assert [row.outcome for row in either_live.requests()] == ["client_gone"] * len(socks)


def test_a_client_may_leave_before_its_question_is_asked(either_live: Live) -> None:
    tasks = either_live.server.tasks()
    data = message("POST", CHAT, b"{" * 1_000, headers=OPENAI)
    for cut in (1, 20, len(data) // 4, len(data) - 1):
        with socket.create_connection(("127.0.0.1", either_live.port), PATIENCE) as sock:
            sock.sendall(data[:cut])
    assert_nothing_stays(either_live, tasks)
    assert either_live.requests() == []


def test_the_next_client_is_served_while_others_are_stuck(either_live: Live) -> None:
    either_live.load(silent_after(3), scenario("fine", {**says("Fine."), "match": {"model": "f"}}))
    tasks = either_live.server.tasks()
    stuck = [begin(either_live, "openai", "silent-3") for _ in range(50)]
    for sock in stuck:
        read_until(sock, lambda seen: b"word2" in seen)
    body = json.dumps({"model": "f", "messages": [{"role": "user", "content": "x"}]}).encode()
    answer = exchange(either_live.port, message("POST", CHAT, body, headers=OPENAI))
    assert answer.status == 200
    for sock in stuck:
        leave(sock, reset=False)
    assert_nothing_stays(either_live, tasks)
