"""Who is told that there is no room is told in the envelope that belongs to the path."""

import asyncio
import json
from typing import Any

import pytest

from mockllm_site.serve.limits import MESSAGE, busy
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest

pytestmark = pytest.mark.django_db


async def asked(path: str) -> tuple[int, dict[bytes, bytes], bytes]:
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
    await busy(scope, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/v1/chat/completions", ("error", "message")),
        ("/v1/messages", ("error", "message")),
        ("/v1beta/models/m:generateContent", ("error", "message")),
        ("/api/chat", ("error",)),
        ("/api/list_conversations", ("message",)),
        ("/control/state", ("message",)),
    ],
)
async def test_each_api_says_it_in_its_own_words(path: str, place: tuple[str, ...]) -> None:
    status, headers, body = await asked(path)
    said = json.loads(body)
    for key in place:
        said = said[key]
    assert (status, said) == (503, MESSAGE)
    assert headers[b"connection"] == b"close"
    assert headers[b"retry-after"] == b"1"


async def test_a_page_says_it_in_plain_text() -> None:
    status, headers, body = await asked("/admin/")
    assert (status, body.decode()) == (503, f"{MESSAGE}\n")
    assert headers[b"retry-after"] == b"1"


@pytest.mark.django_db(transaction=True)
def test_providers_requests_are_journalled() -> None:
    asyncio.run(asked("/v1/messages"))
    assert journal.flush()
    assert ServedRequest.objects.get().status == 503
