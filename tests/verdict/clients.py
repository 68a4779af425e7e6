"""A well-behaved client; seeded faults override parts of it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from scenarios_app.verdict.session import response_text
from tests.verdict.dialects import ApiConversation, RequestedCall
from tests.verdict.simulated_server import ServerResponse, SimulatedServer

RETRIED_STATUSES = {0, 408, 409, 429, 500, 502, 503, 529}


@dataclass
class Client:
    """One conversation with a server.

    If `numbers_attempts`, it sends the number of each attempt in a header, as the official SDKs of
    OpenAI and Anthropic do.
    """

    server: SimulatedServer
    conversation: ApiConversation
    random: Random
    numbers_attempts: bool = False
    max_attempts: int = 5
    extra: Mapping[str, Any] = field(default_factory=dict)
    pause: Callable[["Client", ServerResponse, int], float | None] | None = None

    def run_turn(self, text: str, *, stream: bool = False) -> None:
        """Send a message and run tools until the model answers without a tool call."""
        self.conversation.add_user_message(text)
        while calls := self.send_step(stream=stream):
            self.conversation.add_results([(call, self.run_tool(call)) for call in calls])

    def send_step(self, *, stream: bool = False) -> list[RequestedCall]:
        """Send a request, with retries where they may help; return the calls in its response."""
        stream = stream and self.conversation.streams
        response = self.send(stream=stream)
        if not (
            response.complete
            and response.status == 200
            and self.is_complete(response, stream=stream)
        ):
            return []
        if stream:
            self.conversation.add_reply(response_text(response.body.decode()))
            return []
        return self.conversation.add_response(response.json)

    def send(self, *, stream: bool = False) -> ServerResponse:
        body = {**self.conversation.body(stream=stream), **self.extra}
        for number in range(self.max_attempts):
            self.server.wait(self.random.uniform(0.002, 0.02))
            headers = {"x-stainless-retry-count": str(number)} if self.numbers_attempts else {}
            response = self.server.ask(self.conversation.path, body, headers=headers)
            if (
                response.complete
                and response.status == 200
                and self.is_complete(response, stream=stream)
            ):
                break
            seconds = (self.pause or polite_pause)(self, response, number)
            if seconds is None or number == self.max_attempts - 1:
                break
            self.server.wait(seconds)
        return response

    def is_complete(self, response: ServerResponse, *, stream: bool) -> bool:
        """Return whether a stream has its end mark, or another response is JSON."""
        if not stream:
            return is_json(response.body)
        marks = (b"[DONE]", b"message_stop", b"response.completed", b'"done":true')
        return any(mark in response.body for mark in marks)

    def run_tool(self, call: RequestedCall) -> str:
        """Return the result of a tool."""
        return f"{call.name}: {self.random.randint(0, 99)}"


def is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


def polite_pause(client: Client, response: ServerResponse, number: int) -> float | None:
    """Return the seconds to wait after a failure, or None if a retry makes no sense."""
    if response.complete and response.status not in RETRIED_STATUSES | {200}:
        return None
    if "retry-after-ms" in response.headers:
        return float(response.headers["retry-after-ms"]) / 1000
    if "retry-after" in response.headers:
        return float(response.headers["retry-after"])
    return min(0.5 * 2**number, 8.0) * client.random.uniform(0.75, 1.0)
