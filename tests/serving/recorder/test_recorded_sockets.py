"""Requests over a WebSocket are forwarded to the provider's WebSocket and replayed over both
WebSocket and HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from scenarios_app.recording import Interaction
from scenarios_app.recording.document import to_document
from scenarios_app.serving.recorder.proxy import CUT, LEFT
from scenarios_app.wire.base import Call
from tests.chat.raw_provider import raw_provider
from tests.project.guarded import serving
from tests.serving.pipelines import Harness
from tests.serving.recorder.upstreams import HEAD, KEY, REAL, RecordingHarness
from tests.serving.websocket.connections import SocketClient, connected, socket_server

Handler: TypeAlias = Callable[
    ["Provider", ServerConnection, dict[str, Any]], Coroutine[Any, Any, None]
]
UNKNOWN = {"code": "previous_response_not_found", "message": "Not here."}


class Provider:
    """A provider that stores responses per connection. `answer` sends one answer."""

    def __init__(self, answer: Handler) -> None:
        self._answer = answer
        self.keys: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.closed = asyncio.Event()

    async def __call__(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        self.keys.append(connection.request.headers["authorization"])
        response_ids: set[str] = set()
        try:
            async for text in connection:
                request = json.loads(text)
                self.requests.append(request)
                previous = request.get("previous_response_id")
                if previous is not None and previous not in response_ids:
                    await send(connection, request, type="error", status=400, error=UNKNOWN)
                    continue
                response_ids.add(f"resp_{len(self.requests)}")
                await self._answer(self, connection, request)
        finally:
            self.closed.set()


async def send(connection: ServerConnection, request: dict[str, Any], **event: Any) -> None:
    lane = {"stream_id": request["stream_id"]} if "stream_id" in request else {}
    await connection.send(json.dumps({**event, **lane}, separators=(",", ":")))


async def answer(provider: Provider, connection: ServerConnection, request: dict[str, Any]) -> None:
    number = len(provider.requests)
    await send(connection, request, type="response.created", sequence_number=0)
    text = {"type": "output_text", "text": f"Answer {number}", "annotations": []}
    item = {"type": "message", "role": "assistant", "content": [text]}
    response = {"id": f"resp_{number}", "status": "completed", "output": [item]}
    await send(connection, request, type="response.completed", response=response)


@asynccontextmanager
async def recorded_server(
    monkeypatch: pytest.MonkeyPatch, handler: Handler = answer
) -> AsyncIterator[tuple[int, Provider, RecordingHarness]]:
    """Run a server that records what it forwards to a provider; yield its port."""
    provider = Provider(handler)
    async with serve(provider, "127.0.0.1", 0) as upstream:
        place = f"127.0.0.1:{upstream.sockets[0].getsockname()[1]}"
        harness = RecordingHarness(place, keys={"openai": REAL})
        async with serving(monkeypatch, harness=harness) as port:
            yield port, provider, harness


async def ask(client: SocketClient, **fields: Any) -> list[dict[str, Any]]:
    await client.send(**{"model": "gpt-5", "store": False, **fields})
    return await client.answer()


def interactions(harness: RecordingHarness) -> tuple[Interaction, ...]:
    return harness.recording.wait_for_result(seconds=5).interactions


async def test_turns_share_the_providers_connection_and_replay_the_same_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with recorded_server(monkeypatch) as (port, provider, harness):
        async with connected(port) as client:
            first = await ask(client, input="One")
            second = await ask(client, input="Two", previous_response_id="resp_1")
        recorded = interactions(harness)
    assert provider.keys == [f"Bearer {REAL}"]
    assert [request["type"] for request in provider.requests] == ["response.create"] * 2
    assert "stream" not in provider.requests[0]
    assert [entry.way for entry in harness.journal] == ["upstream"] * 2
    assert [at for at, _ in recorded[0].response.chunks] == sorted(
        at for at, _ in recorded[0].response.chunks
    )
    document = to_document("cassette", recorded).document
    assert REAL not in json.dumps(document) and KEY not in json.dumps(document)
    async with socket_server(monkeypatch, document) as (port, replaying):
        async with connected(port) as client:
            assert await ask(client, input="One") == first
            assert await ask(client, input="Two", previous_response_id="resp_1") == second
        assert [entry.scenario for entry in replaying.journal] == ["cassette"] * 2
    body = {"model": "gpt-5", "store": False, "input": "One", "stream": True}
    headers = {"authorization": f"Bearer {KEY}"}
    call = Call("POST", "/v1/responses", {}, headers, json.dumps(body).encode())
    status, _, data = await Harness(document).ask(call)
    events = [json.loads(line[6:]) for line in data.decode().splitlines() if line[:6] == "data: "]
    assert (status, events) == (200, first)


async def test_answers_of_lanes_at_the_same_time_are_recorded_without_their_lane(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with recorded_server(monkeypatch) as (port, _, harness):
        async with connected(port) as client:
            for lane in "ab":
                await client.send(model="gpt-5", input=lane, stream_id=lane)
            events = [event for _ in range(2) for event in await client.answer()]
        recorded = interactions(harness)
    assert {event["stream_id"] for event in events} == {"a", "b"}
    assert all(
        b"stream_id" not in interaction.response.body + interaction.request.body
        for interaction in recorded
    )


async def test_error_of_the_provider_passes_and_is_recorded_with_its_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with recorded_server(monkeypatch) as (port, _, harness):
        async with connected(port) as client:
            (event,) = await ask(client, input="One", previous_response_id="resp_of_another")
        (interaction,) = interactions(harness)
    assert (event["status"], event["error"]["code"]) == (400, UNKNOWN["code"])
    assert (interaction.response.status, json.loads(interaction.response.body)) == (
        400,
        {"error": UNKNOWN},
    )


async def test_connection_that_the_provider_ends_in_an_answer_ends_for_the_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def half(
        provider: Provider, connection: ServerConnection, request: dict[str, Any]
    ) -> None:
        await send(connection, request, type="response.created", sequence_number=0)
        await connection.close(1011)

    async with recorded_server(monkeypatch, half) as (port, _, harness):
        async with connected(port) as client:
            await client.send(model="gpt-5", input="One")
            assert (await client.event())["type"] == "response.created"
            with pytest.raises(ConnectionClosed):
                await client.event()
        (interaction,) = interactions(harness)
    assert interaction.response.cut and interaction.notes == (CUT,)


async def test_client_that_leaves_in_an_answer_ends_the_providers_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def slow(
        provider: Provider, connection: ServerConnection, request: dict[str, Any]
    ) -> None:
        await send(connection, request, type="response.created", sequence_number=0)

    async with recorded_server(monkeypatch, slow) as (port, provider, harness):
        async with connected(port) as client:
            await client.send(model="gpt-5", input="One")
            await client.event()
        await asyncio.wait_for(provider.closed.wait(), 10)
        (interaction,) = interactions(harness)
    assert interaction.notes == (LEFT,)
    assert [entry.outcome for entry in harness.journal] == ["client_gone"]


async def test_provider_without_a_websocket_gets_the_request_over_http(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    event = b'data: {"type":"response.completed","response":{"id":"resp_1"}}\n\n'
    head = HEAD + b"content-type: text/event-stream\r\nconnection: close\r\n"
    response = head + b"content-length: %d\r\n\r\n" % len(event) + event
    async with raw_provider(response) as upstream:
        harness = RecordingHarness(upstream.address)
        async with serving(monkeypatch, harness=harness) as port, connected(port) as client:
            for _ in range(2):
                (last,) = await ask(client, input="One")
                assert last["response"] == {"id": "resp_1"}
        methods = [head.split()[0] for head in upstream.heads]
    assert methods == ["GET", "POST", "POST"]
    assert len(interactions(harness)) == 2


async def test_provider_that_cannot_be_reached_is_an_error_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = RecordingHarness("127.0.0.1:1")
    async with serving(monkeypatch, harness=harness) as port, connected(port) as client:
        (event,) = await ask(client, input="One")
    assert (event["status"], event["error"]["code"]) == (502, "upstream_failed")
