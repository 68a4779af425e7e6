"""A provider in process that says what a test tells it, event by event."""

import json
from collections.abc import Iterable
from typing import Any, ClassVar

import httpx2

from chat_app.clients.registry import get_client
from chat_app.values.model_call import ModelRequest, Turn
from tests.chat.ways import ReceivedAnswer, ask, profile, request


class Scripted(httpx2.AsyncBaseTransport):
    """Made by its dotted name, as the mock's own transport is; so its script is the class's."""

    body: ClassVar[bytes] = b""
    sent: ClassVar[dict[str, Any]] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        type(self).sent = json.loads(await request.aread())
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(self.body))


PATH = f"{Scripted.__module__}.{Scripted.__name__}"


def events(family: str, events_sent: Iterable[Any]) -> bytes:
    """Events as the family frames them; a text is taken as it is, anything else is JSON."""
    lines = []
    for event in events_sent:
        data = event if isinstance(event, str) else json.dumps(event)
        kind = event.get("type", "other") if isinstance(event, dict) else "other"
        name = f"event: {kind}\n" if family == "anthropic" else ""
        lines.append(f"{name}data: {data}\n\n")
    return "".join(lines).encode()


def read_answer(
    settings: Any, family: str, *events_sent: Any, provider_id: str = ""
) -> ReceivedAnswer:
    """Read an answer with these events through the family's client."""
    settings.MOCKLLM_TRANSPORT = PATH
    Scripted.body = events(family, events_sent)
    client = get_client(profile(provider_id or family, base_url="mock:"), session="none")
    return ask(client, request())


def sent(settings: Any, provider_id: str, *turns: Turn, **fields: Any) -> dict[str, Any]:
    """The body of the request that a provider's client makes."""
    settings.MOCKLLM_TRANSPORT = PATH
    Scripted.body = b""
    client = get_client(profile(provider_id, base_url="mock:"), session="none")
    model_request: ModelRequest = request(*turns, **fields)
    ask(client, model_request)
    return Scripted.sent
