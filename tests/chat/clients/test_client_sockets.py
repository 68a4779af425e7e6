"""Clients over real sockets: misbehaving servers, and connections and tasks that remain."""

import asyncio
import gzip
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest

from chat_app.clients import transports as gate
from chat_app.clients.registry import get_client
from chat_app.clients.sdk import SdkClient
from chat_app.errors import NETWORK_ERROR, SERVICE_UNAVAILABLE
from chat_app.values.model_call import ProviderEvent, TextPart
from tests.chat.mock_provider import FAMILIES, KEY_VARIABLE, profile, receive, request
from tests.chat.raw_provider import HEAD, RawProvider, raw_provider

UNREADABLE = (SERVICE_UNAVAILABLE, "Failed to parse response")
# One complete event of each provider, with the text "one ".
TEXT_EVENTS = {
    "openai": b'data: {"choices":[{"index":0,"delta":{"content":"one "}}]}\n\n',
    "anthropic": b"event: content_block_start\ndata: "
    b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"one "}}\n\n',
    "google": b'data: {"candidates":[{"content":{"parts":[{"text":"one "}]},"index":0}]}\r\n\r\n',
}

# The events that end the answer.
END_EVENTS = {
    "openai": b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n",
    "anthropic": b"event: message_delta\ndata: "
    b'{"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    "google": b'data: {"candidates":[{"finishReason":"STOP","index":0}]}\r\n\r\n',
}

each_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture(autouse=True)
def outside_test_mode(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MOCKLLM_ENV = "dev"
    monkeypatch.setenv(KEY_VARIABLE, "sk-of-nobody")


def client_of(
    provider: RawProvider, family: str, settings: Any, *, path: str = "", **columns: Any
) -> SdkClient:
    settings.CHAT_ALLOWED_HOSTS = [provider.address]
    return get_client(
        profile(
            family,
            base_url=f"http://{provider.address}{path}",
            api_key_env=KEY_VARIABLE,
            **columns,
        ),
        session="none",
    )


async def count_other_tasks() -> int:
    """Return the number of other tasks, after abandoned generators of an SDK had time to end."""
    for _ in range(100):
        await asyncio.sleep(0)
    return len(asyncio.all_tasks()) - 1


@each_family
async def test_connection_cut_inside_an_event_is_a_network_error(
    family: str, settings: Any
) -> None:
    head = HEAD.replace(b"connection: close", b"content-length: 100000")
    async with raw_provider(head, TEXT_EVENTS[family], TEXT_EVENTS[family][:25]) as provider:
        client = client_of(provider, family, settings)
        received = await receive(client, request())
        await client.aclose()
    assert (received.text, received.failure) == ("one ", (NETWORK_ERROR, "Connection failed"))


@each_family
async def test_refused_connection_is_a_network_error(family: str, settings: Any) -> None:
    async with raw_provider() as provider:
        client = client_of(provider, family, settings)
    received = await receive(client, request())
    await client.aclose()
    assert received.failure == (NETWORK_ERROR, "Connection failed")


@each_family
async def test_a_compressed_answer_is_not_unpacked(family: str, settings: Any) -> None:
    head = HEAD.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
    async with raw_provider(head, gzip.compress(TEXT_EVENTS[family] * 100_000)) as provider:
        client = client_of(provider, family, settings)
        received = await receive(client, request())
        await client.aclose()
        assert provider.headers()["accept-encoding"] == "identity"
    assert (received.text, received.failure) == ("", UNREADABLE)


@each_family
async def test_calls_share_an_sdk_but_no_key_or_cookie(
    family: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call with another key runs beside an unfinished one whose answer set a cookie."""
    head = HEAD.replace(b"\r\n\r\n", b"\r\nset-cookie: session=first\r\n\r\n")
    async with raw_provider(head, TEXT_EVENTS[family], END_EVENTS[family]) as provider:
        first = client_of(provider, family, settings)
        stream = first.stream(request())
        assert await anext(stream) == TextPart("one ")
        monkeypatch.setenv(KEY_VARIABLE, "sk-of-another")
        second = client_of(provider, family, settings)
        assert (await receive(second, request())).text == "one "
        assert [event async for event in stream]
        await first.aclose()
        await second.aclose()
        heads = [provider.headers(number) for number in range(2)]
    header_values = [{value.removeprefix("Bearer ") for value in head.values()} for head in heads]
    assert [key in header_values[0] for key in ("sk-of-nobody", "sk-of-another")] == [True, False]
    assert [key in header_values[1] for key in ("sk-of-nobody", "sk-of-another")] == [False, True]
    assert "cookie" not in heads[1] and not gate.http_client().cookies


@each_family
async def test_answer_beyond_the_size_limit_is_an_error(
    family: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "MAX_RESPONSE_BYTES", 2 * len(TEXT_EVENTS[family]))
    async with raw_provider(HEAD, *[TEXT_EVENTS[family]] * 3, hold=True) as provider:
        client = client_of(provider, family, settings)
        received = await receive(client, request())
        await client.aclose()
        await provider.client_closed.wait()
    assert received.failure == UNREADABLE


@each_family
async def test_html_error_page_is_reported_by_its_status(family: str, settings: Any) -> None:
    page = b"<html><body>502</body></html>"
    head = b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n"
    async with raw_provider(head % len(page), page) as provider:
        client = client_of(provider, family, settings)
        received = await receive(client, request())
        await client.aclose()
        assert provider.connections == 1
    assert received.failure == (SERVICE_UNAVAILABLE, "The provider answered with HTTP 502")


@each_family
async def test_closing_the_stream_closes_the_socket(family: str, settings: Any) -> None:
    async with raw_provider(HEAD, TEXT_EVENTS[family], hold=True) as provider:
        client = client_of(provider, family, settings)
        stream = cast(AsyncGenerator[ProviderEvent, None], client.stream(request()))
        assert await anext(stream) == TextPart("one ")
        await stream.aclose()
        await provider.client_closed.wait()
        await client.aclose()
    assert await count_other_tasks() == 0


@each_family
async def test_cancelling_the_reader_closes_the_socket(family: str, settings: Any) -> None:
    event_received = asyncio.Event()

    async def read(client: SdkClient) -> None:
        async for _ in client.stream(request()):
            event_received.set()

    async with raw_provider(HEAD, TEXT_EVENTS[family], hold=True) as provider:
        client = client_of(provider, family, settings)
        reader = asyncio.create_task(read(client))
        await event_received.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        await provider.client_closed.wait()
        await client.aclose()
    assert await count_other_tasks() == 0


@each_family
async def test_cancelling_before_the_answer_closes_the_socket(family: str, settings: Any) -> None:
    async with raw_provider(hold=True) as provider:
        client = client_of(provider, family, settings)
        reader = asyncio.create_task(receive(client, request()))
        await provider.request_received.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        await provider.client_closed.wait()
        await client.aclose()
    assert await count_other_tasks() == 0


@each_family
async def test_the_rounds_of_an_answer_share_a_connection(family: str, settings: Any) -> None:
    body = TEXT_EVENTS[family] + END_EVENTS[family]
    head = HEAD.replace(b"connection: close", b"content-length: %d")
    async with raw_provider(head % len(body), body, hold=True) as provider:
        client = client_of(provider, family, settings)
        for _ in range(2):
            received = await receive(client, request())
            assert (received.text, received.finished.reason) == ("one ", "stop")
        assert (len(provider.heads), provider.connections) == (2, 1)
        await client.aclose()
        await provider.client_closed.wait()


@pytest.mark.parametrize("family", ["openai", "anthropic"])
async def test_ended_answer_does_not_wait_for_the_connection(family: str, settings: Any) -> None:
    """Google's API has no marker after which nothing may follow."""
    async with raw_provider(HEAD, TEXT_EVENTS[family], END_EVENTS[family], hold=True) as provider:
        client = client_of(provider, family, settings)
        received = await receive(client, request())
        assert (received.text, received.finished.reason) == ("one ", "stop")
        await client.aclose()
        await provider.client_closed.wait()


@pytest.mark.parametrize(
    ("family", "path", "expected"),
    [
        ("openai", "/proxy/v1", "/proxy/v1/chat/completions"),
        ("openai", "/proxy/v1/", "/proxy/v1/chat/completions"),
        ("anthropic", "", "/v1/messages"),
        ("anthropic", "/proxy/v1/", "/proxy/v1/messages"),
        ("google", "", "/v1beta/models/model-1:streamGenerateContent?alt=sse"),
        ("google", "/proxy/v1beta", "/proxy/v1beta/models/model-1:streamGenerateContent?alt=sse"),
        ("google", "/v1/", "/v1/models/model-1:streamGenerateContent?alt=sse"),
    ],
)
async def test_base_urls_are_accepted_with_and_without_a_version(
    family: str, path: str, expected: str, settings: Any
) -> None:
    async with raw_provider(HEAD) as provider:
        client = client_of(provider, family, settings, path=path)
        await receive(client, request())
        await client.aclose()
        assert provider.heads[0].split(" ")[1] == expected
