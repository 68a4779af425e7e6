"""The door in front of Django: what it sends, when it stops, and that nothing stays behind."""

import asyncio
import json
import math
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.serving.transports import asgi, body_memory
from scenarios_app.serving.transports.asgi import ProviderApp
from scenarios_app.serving.transports.asgi_scope import Message
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Playing, chat, says, scenario

SLOW = says("a b c d")
SLOW["produce"]["pacing"] = {"chunk_ms": 20_000, "words_per_chunk": 1}
LATE = says("late")
LATE["produce"]["latency_ms"] = 20_000
CUT = says("a b c d")
CUT["produce"] |= {"fault": {"kind": "disconnect"}, "pacing": {"words_per_chunk": 1}}


class Client:
    """The server's side of one connection."""

    def __init__(self, call: Call, *pieces: bytes) -> None:
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": call.method,
            "path": call.path,
            "raw_path": call.path.encode(),
            "query_string": b"",
            "headers": [(k.encode(), v.encode()) for k, v in call.headers.items()],
        }
        self.pieces = list(pieces or [call.body])
        self.sent: list[Message] = []
        self.left = asyncio.Event()
        self.got = asyncio.Event()

    async def receive(self) -> Message:
        if self.pieces and not self.left.is_set():
            piece = self.pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(self.pieces)}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        self.got.set()

    @property
    def body(self) -> bytes:
        return b"".join(m.get("body", b"") for m in self.sent)


class UnfinishedClient(Client):
    """Sends a first piece of its body, and no more until it leaves."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self.read = asyncio.Event()

    async def receive(self) -> Message:
        if self.read.is_set():
            await self.left.wait()
            return {"type": "http.disconnect"}
        self.read.set()
        return {"type": "http.request", "body": b"{", "more_body": True}


def through(playing: Playing, client: Client) -> "asyncio.Task[None]":
    door = ProviderApp(playing.running)
    return asyncio.create_task(door(client.scope, client.receive, client.send))


async def test_immediate_reply_is_one_head_and_one_body_message() -> None:
    for stream in (False, True):
        client = Client(chat(stream=stream))
        await through(Playing(scenario("s", says("Hi!"))), client)
        start, body = client.sent
        assert start["type"] == "http.response.start" and start["status"] == 200
        assert body["more_body"] is False and b"Hi!" in body["body"]


@pytest.mark.parametrize(("step", "got_head"), [(SLOW, True), (LATE, False)])
async def test_a_client_that_leaves_ends_the_answer_and_no_task_stays(
    step: dict[str, Any], got_head: bool
) -> None:
    playing = Playing(scenario("s", step))
    before = asyncio.all_tasks()
    client = Client(chat(stream=True))
    giving = through(playing, client)
    if got_head:
        await client.got.wait()
    else:
        await asyncio.sleep(0)
    client.left.set()
    await giving
    assert asyncio.all_tasks() == before
    (entry,) = playing.journal
    assert (entry.outcome, entry.scenario) == ("client_gone", "s")
    assert bool(client.sent) is got_head
    assert playing.pipeline.streams.open == 0


async def test_a_server_that_cancels_the_door_leaves_no_task_behind() -> None:
    playing = Playing(scenario("s", SLOW))
    before = asyncio.all_tasks()
    client = Client(chat(stream=True))
    giving = through(playing, client)
    await client.got.wait()
    giving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await giving
    assert asyncio.all_tasks() == before
    assert len(playing.journal) == 1


async def test_a_client_gone_before_its_request_was_whole_is_nobody() -> None:
    playing = Playing()
    client = Client(chat(), b"{", b"}")
    giving = through(playing, client)
    client.left.set()
    await giving
    assert client.sent == [] and playing.journal == []


async def test_a_body_is_not_read_beyond_its_limit() -> None:
    playing = Playing(max_body_bytes=1_000)
    client = Client(chat(), *[b"x" * 400] * 100)
    await through(playing, client)
    assert client.sent[0]["status"] == 413
    assert len(client.pieces) == 97
    assert json.loads(client.body)["error"]["message"].endswith("larger than 1000 bytes.")
    assert b"connection" not in dict(client.sent[0]["headers"])


async def test_a_declared_length_beyond_the_limit_is_refused_unread() -> None:
    playing = Playing(max_body_bytes=1_000)
    client = Client(chat(headers={"content-length": "1001"}))
    await through(playing, client)
    assert client.sent[0]["status"] == 413 and client.pieces
    assert playing.journal[0].status == 413


@pytest.mark.parametrize("length", [{"content-length": "70000"}, {"transfer-encoding": "chunked"}])
async def test_a_large_body_without_a_key_is_refused_unread(length: dict[str, str]) -> None:
    playing = Playing()
    call = chat(headers=length)
    client = Client(replace(call, headers={**length, "content-type": "application/json"}))
    await through(playing, client)
    assert client.sent[0]["status"] == 401 and client.pieces
    assert playing.journal[0].status == 401


async def test_a_large_body_that_gets_no_turn_is_told_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(body_memory, "MAX_WAIT_SECONDS", 0.0)
    playing = Playing(scenario("s", says("Hi")))
    client = Client(chat(headers={"content-length": "70000"}))
    async with body_memory.body_memory.reserve(body_memory.BODY_MEMORY_BYTES):
        await through(playing, client)
    assert client.sent[0]["status"] == 503 and client.pieces
    assert dict(client.sent[0]["headers"])[b"retry-after"] == b"1"
    assert "error" in json.loads(client.body)
    again = Client(chat(headers={"content-length": "70000"}))
    await through(playing, again)
    assert again.sent[0]["status"] == 200


async def test_large_request_reserves_three_times_its_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "body_memory", body_memory.BodyMemory(5 * 70_000))
    playing = Playing(scenario("s", says("Hi")))
    call = chat(headers={"content-length": "70000"})
    first, second = UnfinishedClient(call), Client(call)
    tasks = [through(playing, first), through(playing, second)]
    await first.read.wait()
    for _ in range(5):
        await asyncio.sleep(0)
    assert second.pieces
    first.left.set()
    await asyncio.gather(*tasks)
    assert second.sent[0]["status"] == 200


async def test_body_in_pieces_is_read_without_a_second_copy() -> None:
    pieces = 100

    async def receive() -> Message:
        nonlocal pieces
        pieces -= 1
        return {"type": "http.request", "body": bytes(65_536), "more_body": pieces > 0}

    tracemalloc.start()
    try:
        body = await asgi.read_body(receive, 10_000_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert body == bytes(6_553_600)
    assert peak < 9_000_000


async def test_cut_on_an_unsupported_server_is_an_error() -> None:
    playing = Playing(scenario("s", CUT))
    client = Client(chat(stream=True))
    await through(playing, client)
    headers = dict(client.sent[0]["headers"])
    assert client.sent[0]["status"] == 500
    assert headers[b"x-mockllm-fault"] == b"unsupported"
    assert headers[b"x-mockllm-scenario"] == b"s"
    assert "uvicorn and daphne" in json.loads(client.body)["error"]["message"]
    assert (playing.journal[0].outcome, playing.journal[0].status) == ("fault", 500)


def draining(playing: Playing) -> Callable[[], None]:
    """Lets the pipeline end what runs as soon as this is called."""
    deadline = [math.inf]
    playing.pipeline.drain_at = lambda: deadline[0]

    def begin() -> None:
        deadline[0] = time.monotonic()

    return begin


async def test_a_stream_that_outlives_the_drain_ends_with_the_providers_error() -> None:
    playing = Playing(scenario("s", SLOW))
    begin = draining(playing)
    client = Client(chat(stream=True))
    giving = through(playing, client)
    await client.got.wait()
    begin()
    await giving
    assert client.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
    last = client.body.rstrip().rpartition(b"data: ")[2]
    assert json.loads(last)["error"]["message"] == "The server is shutting down."
    assert playing.journal[0].outcome == "fault"


async def test_an_answer_that_waits_when_the_drain_ends_is_a_503() -> None:
    playing = Playing(scenario("s", LATE))
    begin = draining(playing)
    client = Client(chat())
    giving = through(playing, client)
    await asyncio.sleep(0)
    begin()
    await giving
    assert client.sent[0]["status"] == 503
    assert json.loads(client.body)["error"]["message"] == "The server is shutting down."
    assert (playing.journal[0].outcome, playing.journal[0].status) == ("fault", 503)


async def test_a_stream_may_not_last_for_ever() -> None:
    playing = Playing(scenario("s", SLOW), max_stream_seconds=0.01)
    client = Client(chat(stream=True))
    await through(playing, client)
    assert b"it may last 0.01 seconds" in client.body
    assert playing.journal[0].outcome == "fault"
