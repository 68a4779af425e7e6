"""Opens or refuses the WebSockets of providers on a connection of `serve`."""

from collections.abc import Awaitable, Callable, Iterable

from scenarios_app.serving.exchange import RequestHead
from scenarios_app.serving.executor import run_eagerly
from scenarios_app.serving.fast.connection import Connection
from scenarios_app.serving.fast.websocket_protocol import WebSocketProtocol
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.transports.asgi_scope import make_call, read_headers
from scenarios_app.serving.transports.websocket import head_of_upgrade, upgrade_error
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import find_intended_path, is_provider_path


class Handshake:
    """The handshake of one connection. `refuse` sends the HTTP response that refuses it."""

    def __init__(
        self, pipeline: Pipeline, connection: Connection, *, refuse: Callable[[Answer], None]
    ) -> None:
        self._pipeline = pipeline
        self._connection = connection
        self._refuse = refuse

    def take(self, url: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Open or refuse a WebSocket of a provider; return False for any other."""
        path, _, query = url.partition(b"?")
        raw = path.decode("latin-1")
        if not (is_provider_path(raw) or find_intended_path("POST", raw)):
            return False
        call = make_call("GET", raw, query=query, headers=read_headers(headers), body=b"")
        head = head_of_upgrade(call)
        refusal: Answer | Awaitable[Answer | None] | None
        if error := upgrade_error(self._pipeline, call, head):
            refusal = self._pipeline.refuse(call, error, head)
        else:
            refusal = run_eagerly(self._pipeline.refuse_upgrade(call, head))
        if refusal is None or isinstance(refusal, Answer):
            self._end(call, head, refusal)
        else:
            self._connection.start_task(self._wait(call, head, refusal))
        return True

    async def _wait(self, call: Call, head: RequestHead, refusal: Awaitable[Answer | None]) -> None:
        self._end(call, head, await refusal)

    def _end(self, call: Call, head: RequestHead, refusal: Answer | None) -> None:
        """Send the HTTP response that refuses a WebSocket, or open it if there is none."""
        connection = self._connection
        if connection.transport.is_closing():
            return
        if refusal is not None:
            self._refuse(refusal)
            return
        rest = connection.hand_over()
        socket = WebSocketProtocol(connection.transport, connection.server_state)
        socket.open(self._pipeline, call, head, rest=rest)
