"""An in-process provider that streams scripted events."""

import json
from collections.abc import Iterable
from typing import Any, ClassVar

import httpx2

from chat_app.clients.registry import get_client
from chat_app.values.model_call import ModelRequest, Turn
from tests.chat.mock_provider import ReceivedAnswer, profile, receive_once, request


class ScriptedTransport(httpx2.AsyncBaseTransport):
    """A transport that returns `body` and keeps the last request body.

    It is created by its dotted name, as the mock's transport is; so both are class attributes."""

    body: ClassVar[bytes] = b""
    last_body: ClassVar[dict[str, Any]] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        type(self).last_body = json.loads(await request.aread())
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(self.body))


TRANSPORT_PATH = f"{ScriptedTransport.__module__}.{ScriptedTransport.__name__}"


def encode_events(family: str, events_sent: Iterable[Any]) -> bytes:
    """Encode events as the family frames them; a string is verbatim, anything else becomes JSON."""
    lines = []
    for event in events_sent:
        data = event if isinstance(event, str) else json.dumps(event)
        event_type = event.get("type", "other") if isinstance(event, dict) else "other"
        name = f"event: {event_type}\n" if family == "anthropic" else ""
        lines.append(f"{name}data: {data}\n\n")
    return "".join(lines).encode()


def read_answer(
    settings: Any, family: str, *events_sent: Any, provider_id: str = ""
) -> ReceivedAnswer:
    """Read an answer of these events through the family's client."""
    settings.MOCKLLM_TRANSPORT = TRANSPORT_PATH
    ScriptedTransport.body = encode_events(family, events_sent)
    client = get_client(profile(provider_id or family, base_url="mock:"), session="none")
    return receive_once(client, request())


def capture_request_body(
    settings: Any, provider_id: str, *turns: Turn, **fields: Any
) -> dict[str, Any]:
    """Return the body of the request that a provider's client sends."""
    settings.MOCKLLM_TRANSPORT = TRANSPORT_PATH
    ScriptedTransport.body = b""
    client = get_client(profile(provider_id, base_url="mock:"), session="none")
    model_request: ModelRequest = request(*turns, **fields)
    receive_once(client, model_request)
    return ScriptedTransport.last_body
