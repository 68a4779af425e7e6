"""Direct answers on a connection that records what is written."""

import asyncio
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from scenarios_app.serving.fast.connection import ParsedHead
from scenarios_app.serving.fast.direct import DirectAnswers, FastLayer
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, chat, gemini, scenario, text_step

LATE = text_step("late", match={"model": "late"})
LATE["produce"]["latency_ms"] = 5
PACED = text_step("one two three", match={"model": "paced"})
PACED["produce"]["pacing"] = {"chunk_ms": 5, "words_per_chunk": 1}
DOCUMENT = scenario("s", LATE, PACED, text_step("Hi!"))


class FakeConnection:
    """A connection of which `writes` are recorded; `answered` counts whole answers."""

    def __init__(self, harness: Harness, layer: FastLayer | None = None) -> None:
        self.writes: list[bytes] = []
        self.transport: Any = SimpleNamespace(write=self.writes.append, close=self.close)
        self.server_state: Any = SimpleNamespace(connections=set(), default_headers=[])
        self.writable = asyncio.Event()
        self.writable.set()
        self.answered = 0
        self.is_closed = False
        self.layer = layer or FastLayer(lambda: harness.pipeline)
        self.direct = DirectAnswers(self.layer, self)

    def close(self) -> None:
        self.is_closed = True

    @property
    def is_writable(self) -> bool:
        return self.writable.is_set()

    async def wait_until_writable(self) -> None:
        await self.writable.wait()

    def server_headers(self, *, is_last: bool) -> list[tuple[bytes, bytes]]:
        return [] if is_last else [(b"keep-alive", b"timeout=1")]

    def end_answer(self) -> None:
        self.answered += 1

    def start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    def hand_over(self) -> bytes:
        raise AssertionError("no test upgrades this connection")

    def begin(self, call: Call, **changes: Any) -> bool:
        """Begin a request; `changes` are those of its parsed head."""
        return self.direct.begin(parsed_head(call)._replace(**changes), None)

    def ask(self, call: Call) -> None:
        assert self.begin(call)
        self.direct.add(call.body)
        self.direct.complete()

    async def wait_for_answers(self, count: int) -> None:
        while self.answered < count:
            await asyncio.sleep(0.001)


def parsed_head(call: Call) -> ParsedHead:
    headers = {**call.headers, "content-length": str(len(call.body))}
    return ParsedHead(
        call.method.encode(),
        call.path.encode(),
        "1.1",
        [(name.encode(), value.encode()) for name, value in headers.items()],
        keep_alive=True,
        expects=False,
    )


@pytest.fixture
async def harness() -> Harness:
    return Harness(DOCUMENT)


@pytest.fixture
async def connection(harness: Harness) -> FakeConnection:
    return FakeConnection(harness)


@pytest.mark.parametrize("call", [chat(), chat(stream=True), gemini(), chat(n=0)], ids=range(4))
async def test_answer_that_is_due_leaves_in_one_write(
    connection: FakeConnection, harness: Harness, call: Call
) -> None:
    for number in range(1, 4):
        connection.ask(call)
        assert len(connection.writes) == connection.answered == len(harness.journal) == number
        assert connection.direct.current is None
    assert b"keep-alive: timeout=1\r\n" in connection.writes[0]


OTHERS: dict[str, tuple[Call, dict[str, Any]]] = {
    "GET": (Call("GET", "/v1/models", {}, chat().headers, b""), {}),
    "old version": (chat(), {"version": "1.0"}),
    "expecting or upgrading": (chat(), {"expects": True}),
    "absolute URL": (chat(), {"url": b"http://any/v1/chat/completions"}),
    "not ASCII": (chat(), {"url": "/v1/ü".encode()}),
    "no length": (chat(), {"headers": []}),
    "chunked": (
        chat(),
        {"headers": [(b"content-length", b"1"), (b"transfer-encoding", b"chunked")]},
    ),
    "large": (chat("a" * 70_000), {}),
    "another origin": (chat(headers={"origin": "http://a.example"}), {}),
    "scenario in a header": (chat(headers={"x-mockllm-scenario": "s"}), {}),
    "embeddings": (Call("POST", "/v1/embeddings", {}, chat().headers, b"{}"), {}),
    "unknown path": (Call("POST", "/v1/nowhere", {}, chat().headers, b"{}"), {}),
    "page": (Call("POST", "/admin/", {}, {}, b""), {}),
}


@pytest.mark.parametrize("name", OTHERS)
async def test_other_requests_are_left_to_the_application(
    connection: FakeConnection, name: str
) -> None:
    call, changes = OTHERS[name]
    assert not connection.begin(call, **changes)
    assert connection.direct.current is None


@pytest.mark.parametrize("state", ["starting", "shared state", "recording"])
async def test_pipeline_that_has_to_be_waited_for_leaves_all_to_the_application(
    harness: Harness, state: str
) -> None:
    running: Any = SimpleNamespace(
        waits=state == "shared state", recordings={"s": 1} if state == "recording" else {}
    )
    layer = FastLayer(lambda: None if state == "starting" else running)
    assert not FakeConnection(harness, layer).begin(chat())


async def test_delayed_answer_is_sent_by_a_task(
    connection: FakeConnection, harness: Harness
) -> None:
    connection.ask(chat(model="late"))
    assert connection.writes == [] and connection.direct.current is not None
    await connection.wait_for_answers(1)
    assert b"".join(connection.writes).count(b"HTTP/1.1 200 OK") == 1
    assert connection.direct.current is None
    assert [entry.outcome for entry in harness.journal] == ["complete"]


async def test_answer_waits_for_a_client_that_does_not_read(
    connection: FakeConnection, harness: Harness
) -> None:
    connection.writable.clear()
    connection.ask(chat())
    await asyncio.sleep(0.01)
    assert connection.writes == []
    connection.writable.set()
    await connection.wait_for_answers(1)
    assert b"Hi!" in b"".join(connection.writes)


async def test_stream_stops_while_its_client_does_not_read(connection: FakeConnection) -> None:
    connection.ask(chat(model="paced", stream=True))
    connection.direct.block()
    written = len(connection.writes)
    await asyncio.sleep(0.05)
    assert len(connection.writes) == written
    connection.direct.unblock()
    await connection.wait_for_answers(1)
    # All that became due meanwhile is one write.
    assert len(connection.writes) == written + 1
    assert connection.writes[-1].endswith(b"0\r\n\r\n")


@pytest.mark.parametrize("call", [chat(model="late"), chat(model="paced", stream=True)])
async def test_client_that_leaves_ends_the_answer(
    connection: FakeConnection, harness: Harness, call: Call
) -> None:
    connection.ask(call)
    await asyncio.sleep(0)
    connection.direct.leave()
    while not harness.journal:
        await asyncio.sleep(0.001)
    assert [entry.outcome for entry in harness.journal] == ["client_gone"]
    assert connection.direct.current is None and connection.answered == 0


async def test_client_that_leaves_within_a_body_is_not_journalled(
    connection: FakeConnection, harness: Harness
) -> None:
    assert connection.begin(chat())
    connection.direct.leave()
    assert connection.direct.current is None and harness.journal == []


@pytest.mark.parametrize("call", [chat(), chat(model="late"), chat(model="paced", stream=True)])
async def test_connection_closes_after_the_request_that_was_under_way(
    connection: FakeConnection, call: Call
) -> None:
    assert not connection.direct.close_after_current()
    assert connection.begin(call)
    assert connection.direct.close_after_current()
    connection.direct.add(call.body)
    connection.direct.complete()
    await connection.wait_for_answers(1)
    response = b"".join(connection.writes)
    assert b"\r\nconnection: close\r\n" in response and b"keep-alive" not in response
    assert connection.is_closed


async def test_packet_is_answered_only_with_a_cached_head_and_a_whole_body(
    connection: FakeConnection,
) -> None:
    call = chat()
    parsed = parsed_head(call)
    lines = [b"POST %b HTTP/1.1" % parsed.url, *map(b": ".join, parsed.headers)]
    raw = b"\r\n".join(lines)
    assert not connection.direct.take_packet(raw, call.body)
    assert connection.direct.begin(parsed, raw)
    connection.direct.add(call.body)
    connection.direct.complete()
    assert not connection.direct.take_packet(raw, call.body[:-1])
    assert connection.answered == 1
    assert connection.direct.take_packet(raw, call.body)
    assert connection.answered == 2
