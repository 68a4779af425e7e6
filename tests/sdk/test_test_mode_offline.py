"""Requirement 000, R1.2: in test mode, SDKs and the mock make no connection to other machines."""

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from scenarios_app.serving.transport import MockTransport
from tests.sdk.anthropic.anthropic_client import AnthropicClient
from tests.sdk.openai.openai_chat_client import OpenAIChatClient
from tests.serving.modes import CATCH_ALL, harness_in_test_mode
from tests.support.live_server import Live

SHORT = "Who are you?"
MESSAGES: list[Any] = [{"role": "user", "content": SHORT}]


class Outbound(Exception):
    """A connection to another machine was attempted."""


def _is_local(host: object) -> bool:
    name = host.decode() if isinstance(host, bytes) else str(host)
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


@pytest.fixture(autouse=True)
def blocked_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Make connections to other machines and look-ups of their names raise; return them."""
    attempts: list[object] = []

    def guard(name: str, place: object, host_of: Any) -> None:
        real = getattr(place, name)

        def guarded(*args: Any, **kwargs: Any) -> Any:
            host = host_of(*args)
            if host is not None and not _is_local(host):
                attempts.append((name, host))
                raise Outbound(f"{name}: {host}")
            return real(*args, **kwargs)

        monkeypatch.setattr(place, name, guarded)

    def address_of(_: object, address: Any) -> object:
        return address[0] if isinstance(address, tuple) else None

    for name in ("connect", "connect_ex"):
        guard(name, socket.socket, address_of)
    guard("sendto", socket.socket, lambda _, *args: address_of(_, args[-1]))
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
        guard(name, socket, lambda host, *_: host)
    yield attempts
    assert attempts == []


def test_r1_2_guard_blocks_connections_to_other_machines(blocked_connections: list[object]) -> None:
    with pytest.raises(Outbound):
        socket.getaddrinfo("api.openai.com", 443)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        with pytest.raises(Outbound):
            datagrams.connect(("192.0.2.1", 53))
        with pytest.raises(Outbound):
            datagrams.sendto(b"?", ("192.0.2.1", 53))
    with pytest.raises(Outbound), httpx2.Client(trust_env=False) as client:
        client.get("http://192.0.2.1/")
    assert len(blocked_connections) == 4
    blocked_connections.clear()


def test_r1_2_sdk_calls_to_the_server_reach_nothing_else(
    live: Live, chat: OpenAIChatClient, claude: AnthropicClient
) -> None:
    live.load(CATCH_ALL)
    assert chat.stream(model="gpt-4o", messages=MESSAGES).text.endswith(SHORT)
    message = claude.create(model="claude-sonnet-5-5", max_tokens=9, messages=MESSAGES)
    assert message.content[0].text.endswith(SHORT)


@pytest.fixture
def no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise Outbound("a connection")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.usefixtures("no_socket")
async def test_r1_2_the_in_process_transport_takes_the_place_of_the_network() -> None:
    """The clients keep their providers' base URLs; no name is resolved and no socket connected."""
    harness = harness_in_test_mode(words_per_second=0)
    http = httpx2.AsyncClient(transport=MockTransport(harness.running))
    async with openai.AsyncOpenAI(api_key="k", http_client=http) as chat:
        stream = await chat.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]
    assert "".join(pieces).endswith(SHORT)
    assert str(chat.base_url) == "https://api.openai.com/v1/"
    http = httpx2.AsyncClient(transport=MockTransport(harness.running))
    async with anthropic.AsyncAnthropic(api_key="k", http_client=http) as claude:
        answer = await claude.messages.create(model="m", max_tokens=9, messages=MESSAGES)
    assert answer.content[0].type == "text"
    assert answer.content[0].text == "".join(pieces)
