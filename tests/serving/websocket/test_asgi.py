"""WebSockets on any ASGI server have the same answers, and refusals if the server can send them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from channels.testing import ApplicationCommunicator

from scenarios_app.serving.transports import websocket_asgi
from scenarios_app.serving.transports.websocket_asgi import SocketApp
from tests.serving.pipelines import KEY, Harness, scenario, text_step

ENDLESS = text_step("one two", match={"model": "endless"})
ENDLESS["produce"]["pacing"] = {"chunk_ms": 90_000, "words_per_chunk": 1}
CUT = text_step("one two", match={"model": "cut"})
CUT["produce"]["fault"] = {"kind": "close_socket", "half_frame": True, "after_frames": 1}
SILENT = {"match": {"model": "silent"}, "produce": {"fault": {"kind": "no_pong", "hold_ms": 1}}}
DOCUMENT = scenario("s", ENDLESS, CUT, SILENT, text_step("Hi there.", match={"model": "gpt-4o"}))
HEADERS = {
    "host": "any",
    "authorization": f"Bearer {KEY}",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "MDEyMzQ1Njc4OWFiY2RlZg==",
}


def scope(path: str = "/v1/responses", *, extended: bool = False, **headers: str) -> dict[str, Any]:
    all_headers = {**HEADERS, **headers}
    return {
        "type": "websocket",
        "path": path,
        "query_string": "model=gpt-4o",
        "headers": [(name.encode(), value.encode()) for name, value in all_headers.items()],
        "extensions": {"websocket.http.response": {}} if extended else {},
        "scheme": "wss",
    }


@asynccontextmanager
async def open_socket(harness: Harness) -> AsyncIterator[ApplicationCommunicator]:
    client = ApplicationCommunicator(SocketApp(harness.running), scope())
    await client.send_input({"type": "websocket.connect"})
    assert (await client.receive_output())["type"] == "websocket.accept"
    try:
        yield client
    finally:
        await client.send_input({"type": "websocket.disconnect"})
        await client.wait()


async def send(client: ApplicationCommunicator, **fields: Any) -> None:
    text = json.dumps({"type": "response.create", **fields})
    await client.send_input({"type": "websocket.receive", "text": text})


async def answer(client: ApplicationCommunicator) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    while not events or events[-1]["type"] not in ("response.completed", "error"):
        events.append(json.loads((await client.receive_output(20))["text"]))
    return events


async def test_requests_are_answered_in_the_same_events() -> None:
    harness = Harness(DOCUMENT)
    async with open_socket(harness) as client:
        for _ in range(4):
            await send(client, input="Hello", stream_id="a")
            events = await answer(client)
            assert {event["stream_id"] for event in events} == {"a"}
            assert events[-1]["response"]["output"][0]["content"][0]["text"] == "Hi there."
    assert [entry.outcome for entry in harness.journal] == ["complete"] * 4


async def test_client_that_leaves_ends_its_answers() -> None:
    harness = Harness(DOCUMENT)
    async with open_socket(harness) as client:
        await send(client, model="endless", input="Hello")
        await client.receive_output(20)
    assert [entry.outcome for entry in harness.journal] == ["client_gone"]


@pytest.mark.parametrize(
    ("message", "status", "code"),
    [({"bytes": b"a"}, 400, 1003), ({"text": "x" * 1_048_577}, 413, 1009)],
)
async def test_binary_or_large_message_is_an_error_and_closes(
    message: dict[str, Any], status: int, code: int
) -> None:
    async with open_socket(Harness(DOCUMENT)) as client:
        await client.send_input({"type": "websocket.receive", **message})
        assert (await answer(client))[-1]["status"] == status
        close = await client.receive_output(20)
    assert (close["type"], close["code"]) == ("websocket.close", code)


async def test_reason_of_a_close_is_cut_to_what_a_close_frame_holds() -> None:
    fault = {"kind": "close_socket", "after_frames": 0, "message": "€" * 100}
    document = scenario("s", text_step("Hi", produce={"text": "Hi", "fault": fault}))
    async with open_socket(Harness(document)) as client:
        await send(client, model="m", input="Hello")
        close = await client.receive_output(20)
    assert (close["type"], close["reason"]) == ("websocket.close", "€" * 41)


@pytest.mark.parametrize(("model", "events"), [("cut", 1), ("silent", 0)])
async def test_connection_that_ends_without_a_close_frame_is_closed_with_1011(
    model: str, events: int
) -> None:
    async with open_socket(Harness(DOCUMENT)) as client:
        await send(client, model=model, input="Hello")
        for _ in range(events):
            assert (await client.receive_output(20))["type"] == "websocket.send"
        assert await client.receive_output(20) == {
            "type": "websocket.close",
            "code": 1011,
            "reason": "",
        }


async def test_old_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket_asgi, "AGE_CHECK_SECONDS", 0.01)
    monkeypatch.setattr("scenarios_app.wire.openai.responses.socket.MAX_SECONDS", 0.0)
    async with open_socket(Harness(DOCUMENT)) as client:
        assert (await answer(client))[-1]["error"]["code"] == "websocket_connection_limit_reached"
        assert (await client.receive_output(20))["code"] == 1000


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/v1/chat/completions", {}, 426),
        ("/v1/responses", {"authorization": ""}, 401),
        ("/v1/responses", {"sec-websocket-version": "8"}, 426),
        ("/v1/responses", {"sec-websocket-key": "short"}, 400),
        ("/v1/responses", {"origin": "https://elsewhere.example"}, 403),
    ],
)
@pytest.mark.parametrize("extended", [True, False])
async def test_handshake_is_refused_in_the_envelope_where_the_server_can(
    path: str, headers: dict[str, str], status: int, extended: bool
) -> None:
    harness = Harness(DOCUMENT)
    request_scope = scope(path, extended=extended, **headers)
    client = ApplicationCommunicator(SocketApp(harness.running), request_scope)
    await client.send_input({"type": "websocket.connect"})
    start = await client.receive_output(20)
    if extended:
        assert (start["type"], start["status"]) == ("websocket.http.response.start", status)
        assert "error" in json.loads((await client.receive_output(20))["body"])
    else:
        assert start == {"type": "websocket.close"}
    await client.wait()
    (entry,) = harness.journal
    assert (entry.method, entry.path, entry.status) == ("GET", path, status)


async def test_step_refuses_an_upgrade() -> None:
    refusing = scenario("s", {"produce": {"fault": {"kind": "refuse_upgrade"}}})
    harness = Harness(refusing)
    client = ApplicationCommunicator(SocketApp(harness.running), scope(extended=True))
    await client.send_input({"type": "websocket.connect"})
    assert (await client.receive_output(20))["status"] == 426
    await client.wait()
    assert harness.journal[0].fault == "refuse_upgrade"


async def test_client_that_takes_nothing_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness(DOCUMENT)
    takes_messages = asyncio.Event()
    sent_messages: list[Any] = []
    incoming: asyncio.Queue[Any] = asyncio.Queue()

    async def send_message(message: Any) -> None:
        if message["type"] == "websocket.send":
            await takes_messages.wait()
        sent_messages.append(message)

    incoming.put_nowait({"type": "websocket.connect"})
    text = json.dumps({"type": "response.create", "input": "Hello"})
    for _ in range(50):
        incoming.put_nowait({"type": "websocket.receive", "text": text})
    app = asyncio.create_task(SocketApp(harness.running)(scope(), incoming.get, send_message))
    while not harness.journal:
        await asyncio.sleep(0)
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(harness.journal) == 1
    takes_messages.set()
    incoming.put_nowait({"type": "websocket.disconnect"})
    await asyncio.wait_for(app, 20)
    assert len(harness.journal) == 50
