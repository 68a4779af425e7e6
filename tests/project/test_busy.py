"""A busy server answers with 503 in the error envelope that belongs to the path."""

import asyncio
import json
from typing import Any

import pytest

from mockllm_site.serve.limits import TOO_MANY_CONNECTIONS, refuse_connection
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest

pytestmark = pytest.mark.django_db


async def request_while_busy(path: str) -> tuple[int, dict[bytes, bytes], bytes]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("the body is read")

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"content-length", b"2")],
    }
    await refuse_connection(scope, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


@pytest.mark.parametrize(
    ("path", "message_path"),
    [
        ("/v1/chat/completions", ("error", "message")),
        ("/v1/messages", ("error", "message")),
        ("/v1beta/models/m:generateContent", ("error", "message")),
        ("/api/chat", ("error",)),
        ("/api/list_conversations", ("message",)),
        ("/control/state", ("message",)),
    ],
)
async def test_busy_message_is_in_the_error_format_of_each_api(
    path: str, message_path: tuple[str, ...]
) -> None:
    status, headers, body = await request_while_busy(path)
    message = json.loads(body)
    for key in message_path:
        message = message[key]
    assert (status, message) == (503, TOO_MANY_CONNECTIONS)
    assert headers[b"connection"] == b"close"
    assert headers[b"retry-after"] == b"1"


async def test_busy_message_of_a_page_is_plain_text() -> None:
    status, headers, body = await request_while_busy("/admin/")
    assert (status, body.decode()) == (503, f"{TOO_MANY_CONNECTIONS}\n")
    assert headers[b"retry-after"] == b"1"


@pytest.mark.django_db(transaction=True)
def test_busy_response_to_a_provider_request_is_journalled() -> None:
    asyncio.run(request_while_busy("/v1/messages"))
    assert journal.flush()
    assert ServedRequest.objects.get().status == 503
