"""Django's application under an ASGI server: its messages, its end, and that no task is left."""

import asyncio
import json
import math
import time
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.serving.transports import body_memory, request_body
from scenarios_app.serving.transports.asgi_scope import Message
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, chat, scenario, text_step
from tests.serving.transports.provider_app import provider_app

SLOW = text_step("a b c d")
SLOW["produce"]["pacing"] = {"chunk_ms": 20_000, "words_per_chunk": 1}
LATE = text_step("late")
LATE["produce"]["latency_ms"] = 20_000
CUT = text_step("a b c d")
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


def start_request(harness: Harness, client: Client) -> "asyncio.Task[None]":
    app = provider_app(harness)
    return asyncio.create_task(app(client.scope, client.receive, client.send))


@pytest.mark.parametrize("stream", [False, True])
async def test_immediate_reply_is_one_head_and_one_piece(stream: bool) -> None:
    client = Client(chat(stream=stream))
    await start_request(Harness(scenario("s", text_step("Hi!"))), client)
    start, body, *end = client.sent
    assert start["type"] == "http.response.start" and start["status"] == 200
    assert body["more_body"] is stream and b"Hi!" in body["body"]
    assert end == [{"type": "http.response.body"}] * stream


@pytest.mark.parametrize(("step", "got_head"), [(SLOW, True), (LATE, False)])
async def test_a_client_that_leaves_ends_the_answer_and_no_task_stays(
    step: dict[str, Any], got_head: bool
) -> None:
    harness = Harness(scenario("s", step))
    before = asyncio.all_tasks()
    client = Client(chat(stream=True))
    task = start_request(harness, client)
    if got_head:
        await client.got.wait()
    else:
        await asyncio.sleep(0)
    client.left.set()
    await task
    assert asyncio.all_tasks() == before
    (entry,) = harness.journal
    assert (entry.outcome, entry.scenario) == ("client_gone", "s")
    assert bool(client.sent) is got_head
    assert harness.pipeline.streams.taken == 0


async def test_client_that_leaves_within_its_request_is_not_journalled() -> None:
    harness = Harness()
    client = Client(chat(), b"{", b"}")
    task = start_request(harness, client)
    client.left.set()
    await task
    assert client.sent == [] and harness.journal == []


async def test_a_body_is_not_read_beyond_its_limit() -> None:
    harness = Harness(max_body_bytes=1_000)
    client = Client(chat(), *[b"x" * 400] * 100)
    await start_request(harness, client)
    assert client.sent[0]["status"] == 413
    assert len(client.pieces) == 97
    assert json.loads(client.body)["error"]["message"].endswith("larger than 1000 bytes.")
    assert b"connection" not in dict(client.sent[0]["headers"])


async def test_a_declared_length_beyond_the_limit_is_refused_unread() -> None:
    harness = Harness(max_body_bytes=1_000)
    client = Client(chat(headers={"content-length": "1001"}))
    await start_request(harness, client)
    assert client.sent[0]["status"] == 413 and client.pieces
    assert harness.journal[0].status == 413


@pytest.mark.parametrize("length", [{"content-length": "70000"}, {"transfer-encoding": "chunked"}])
async def test_a_large_body_without_a_key_is_refused_unread(length: dict[str, str]) -> None:
    harness = Harness()
    call = chat(headers=length)
    client = Client(replace(call, headers={**length, "content-type": "application/json"}))
    await start_request(harness, client)
    assert client.sent[0]["status"] == 401 and client.pieces
    assert harness.journal[0].status == 401


async def test_large_body_without_memory_is_a_503_with_retry_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(body_memory, "MAX_WAIT_SECONDS", 0.0)
    harness = Harness(scenario("s", text_step("Hi")))
    client = Client(chat(headers={"content-length": "70000"}))
    async with body_memory.body_memory.reserve(body_memory.BODY_MEMORY_BYTES):
        await start_request(harness, client)
    assert client.sent[0]["status"] == 503 and client.pieces
    assert dict(client.sent[0]["headers"])[b"retry-after"] == b"1"
    assert "error" in json.loads(client.body)
    second_client = Client(chat(headers={"content-length": "70000"}))
    await start_request(harness, second_client)
    assert second_client.sent[0]["status"] == 200


async def test_large_request_reserves_three_times_its_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "body_memory", body_memory.BodyMemory(5 * 70_000))
    harness = Harness(scenario("s", text_step("Hi")))
    call = chat(headers={"content-length": "70000"})
    first, second = UnfinishedClient(call), Client(call)
    tasks = [start_request(harness, first), start_request(harness, second)]
    await first.read.wait()
    for _ in range(5):
        await asyncio.sleep(0)
    assert second.pieces
    first.left.set()
    await asyncio.gather(*tasks)
    assert second.sent[0]["status"] == 200


async def test_cut_on_an_unsupported_server_is_an_error() -> None:
    harness = Harness(scenario("s", CUT))
    client = Client(chat(stream=True))
    await start_request(harness, client)
    headers = dict(client.sent[0]["headers"])
    assert client.sent[0]["status"] == 500
    assert headers[b"x-mockllm-fault"] == b"unsupported"
    assert headers[b"x-mockllm-scenario"] == b"s"
    assert "uvicorn and daphne" in json.loads(client.body)["error"]["message"]
    assert (harness.journal[0].outcome, harness.journal[0].status) == ("fault", 500)


def prepare_drain(harness: Harness) -> Callable[[], None]:
    """Return a function that starts the drain of the pipeline."""
    deadline = [math.inf]
    harness.pipeline.drain_at = lambda: deadline[0]

    def start_drain() -> None:
        deadline[0] = time.monotonic()

    return start_drain


async def test_a_stream_that_outlives_the_drain_ends_with_the_providers_error() -> None:
    harness = Harness(scenario("s", SLOW))
    start_drain = prepare_drain(harness)
    client = Client(chat(stream=True))
    task = start_request(harness, client)
    await client.got.wait()
    start_drain()
    await task
    assert client.sent[-1] == {"type": "http.response.body"}
    last = client.body.rstrip().rpartition(b"data: ")[2]
    assert json.loads(last)["error"]["message"] == "The server is shutting down."
    assert harness.journal[0].outcome == "fault"


async def test_an_answer_that_waits_when_the_drain_ends_is_a_503() -> None:
    harness = Harness(scenario("s", LATE))
    start_drain = prepare_drain(harness)
    client = Client(chat())
    task = start_request(harness, client)
    await asyncio.sleep(0)
    start_drain()
    await task
    assert client.sent[0]["status"] == 503
    assert json.loads(client.body)["error"]["message"] == "The server is shutting down."
    assert (harness.journal[0].outcome, harness.journal[0].status) == ("fault", 503)


async def test_stream_ends_after_its_maximum_duration() -> None:
    harness = Harness(scenario("s", SLOW), max_stream_seconds=0.01)
    client = Client(chat(stream=True))
    await start_request(harness, client)
    assert b"it may last 0.01 seconds" in client.body
    assert harness.journal[0].outcome == "fault"
