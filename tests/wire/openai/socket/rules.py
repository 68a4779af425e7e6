"""Run the rules of a WebSocket connection and collect their actions."""

import json
from collections.abc import Mapping
from typing import Any

from scenarios_app.wire.openai.responses.socket import ResponsesSocket
from scenarios_app.wire.sockets import CloseSocket, RefuseTurn, SendEvent, SocketAction, StartTurn


class Rules:
    """Collects the actions of a connection's rules; `started` holds requests without a response."""

    def __init__(self, query: Mapping[str, str] | None = None) -> None:
        self.rules = ResponsesSocket(query or {})
        self.started: list[Any] = []
        self.refusals: list[RefuseTurn] = []
        self.sent: list[dict[str, Any]] = []
        self.closed: CloseSocket | None = None

    def create(self, **fields: Any) -> None:
        self.receive({"type": "response.create", **fields})

    def receive(self, event: Any) -> None:
        data = event if isinstance(event, bytes) else json.dumps(event).encode()
        for action in self.rules.receive(data):
            self._do(action)

    def expire(self, age: float) -> None:
        for action in self.rules.expire(age):
            self._do(action)

    def begin(self, name: str = "resp_1") -> None:
        """Send the first event of the first request's response."""
        event = {"type": "response.created", "sequence_number": 0, "response": {"id": name}}
        self.rules.encode(self.started[0], sse(event))

    def steer(self, name: object = "resp_1", value: object = "Stop.", **fields: object) -> Any:
        """Send steering input; return the event that acknowledges it."""
        event = {"type": "response.steer", "previous_response_id": name, "input": value, **fields}
        self.receive(event)
        return self.sent.pop()

    def complete(self, name: str = "resp_1", *, status: int = 200, **fields: Any) -> Any:
        """End the first request with a response; return that request."""
        turn = self.started.pop(0)
        response = {"id": name, "output": [], **fields}
        for kind in ("response.created", "response.completed"):
            self.rules.encode(turn, sse({"type": kind, "sequence_number": 1, "response": response}))
        self._end(turn, status)
        return turn

    def fail(self, *, status: int = 400) -> Any:
        """End the first request with an error; return that request."""
        turn = self.started.pop(0)
        self._end(turn, status)
        return turn

    @property
    def code(self) -> str | None:
        """Return the code of the latest refusal."""
        return self.refusals[-1].error.code

    def _end(self, turn: Any, status: int) -> None:
        for action in self.rules.end(turn, status=status):
            self._do(action)

    def _do(self, action: SocketAction) -> None:
        match action:
            case StartTurn(turn):
                self.started.append(turn)
            case RefuseTurn():
                self.refusals.append(action)
            case SendEvent(data):
                self.sent.append(json.loads(data))
            case CloseSocket():
                self.closed = action


def sse(event: Mapping[str, Any]) -> bytes:
    data = json.dumps(event, separators=(",", ":"))
    return f"event: {event['type']}\ndata: {data}\n\n".encode()
