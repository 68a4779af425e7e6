"""An added API over a WebSocket needs only its rules and `socket=` at its endpoint."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import pytest
from msgspec.structs import replace
from websockets.asyncio.server import ServerConnection, serve

from scenarios_app.wire import registry
from scenarios_app.wire.sockets import CloseSocket, ServerMessage, SocketAction, StartTurn, Turn
from tests.admin.change_cost.acme import KEY, Acme
from tests.project.guarded import serving
from tests.serving.pipelines import scenario, text_step
from tests.serving.recorder.upstreams import RecordingHarness
from tests.serving.websocket.connections import connected, socket_server


class Questions:
    """The rules of an API whose messages are questions or "bye"."""

    def __init__(self, query: Mapping[str, str]) -> None:
        self._model = query["model"]

    def receive(self, data: bytes) -> Sequence[SocketAction]:
        if data == b"bye":
            return (CloseSocket(1000, "bye"),)
        messages = [{"role": "user", "content": data.decode()}]
        body = {"model": self._model, "messages": messages}
        return (StartTurn(Turn(msgspec.json.encode(body))),)

    def encode(self, turn: Turn, piece: bytes) -> list[bytes]:
        return [piece]

    def encode_error(
        self, turn: Turn, status: int, headers: Sequence[tuple[str, str]], body: bytes
    ) -> bytes:
        return b"error %d" % status

    def end(self, turn: Turn, *, status: int) -> Sequence[SocketAction]:
        return ()

    def expire(self, age: float) -> Sequence[SocketAction]:
        return ()

    def encode_request(self, body: bytes, stream_id: str | None) -> bytes:
        question: str = msgspec.json.decode(body)["messages"][-1]["content"]
        return question.encode()

    def read_answer(self, data: bytes) -> ServerMessage:
        return ServerMessage(None, data, ends=True)


class AcmeWithSocket(Acme):
    """Acme with questions over a WebSocket."""

    def __init__(self) -> None:
        super().__init__()
        self.endpoints = (replace(self.endpoints[0], socket=Questions), *self.endpoints[1:])


@pytest.fixture(autouse=True)
def acme() -> Iterator[None]:
    registry.install(AcmeWithSocket(), *registry.SHIPPED)
    yield
    registry.install(*registry.SHIPPED)


async def test_added_api_over_a_websocket_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    document = scenario("s", text_step("Fine.", match={"messages": ["How are you?"]}))
    path = "/acme/chat?model=acme-1"
    async with (
        socket_server(monkeypatch, document) as (port, harness),
        connected(port, path, **{"x-acme": KEY}) as client,
    ):
        await client.connection.send("How are you?")
        answer = msgspec.json.decode(await client.connection.recv())
        assert answer["choices"][0]["message"]["content"] == "Fine."
        await client.connection.send("Who are you?")
        assert await client.connection.recv() == "error 404"
        await client.connection.send("bye")
        assert await client.close_code() == 1000
    assert [(entry.provider, entry.path) for entry in harness.journal] == [
        ("acme", "/acme/chat")
    ] * 2


async def test_added_api_over_a_websocket_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def provider(connection: ServerConnection) -> None:
        async for question in connection:
            await connection.send(f"You asked: {question!s}")

    async with serve(provider, "127.0.0.1", 0) as upstream:
        place = f"127.0.0.1:{upstream.sockets[0].getsockname()[1]}"
        harness = RecordingHarness(place, upstreams={"acme": f"http://{place}"})
        path = "/acme/chat?model=acme-1"
        async with (
            serving(monkeypatch, harness=harness) as port,
            connected(port, path, **{"x-acme": KEY}) as client,
        ):
            await client.connection.send("Why?")
            assert await client.connection.recv() == "You asked: Why?"
        (interaction,) = harness.recording.wait_for_result(seconds=5).interactions
    assert interaction.response.body == b"You asked: Why?"
    assert msgspec.json.decode(interaction.request.body)["messages"][0]["content"] == "Why?"
