"""Where a call may end up, by the address: written in the URL, found by name, or redirected to."""

import asyncio
from typing import Any

import httpx2
import pytest

from chat_app.clients.registry import get_client
from chat_app.errors import NETWORK_ERROR, SERVICE_UNAVAILABLE, VALIDATION_ERROR, ChatError
from mockllm_site.kit import dial as dialing
from mockllm_site.kit.addresses import Reach, classify_address, parse_ip_address
from tests.chat.addresses import ADDRESSES, bracketed
from tests.chat.raw_provider import raw_provider
from tests.chat.ways import FAMILIES, ReceivedAnswer, profile, receive, request

NAME = "llm.example:8443"
URL = f"https://{NAME}/v1"

each_address = pytest.mark.parametrize(("address", "kind"), ADDRESSES.items())


@pytest.fixture
def connected(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Addresses that were to be connected to, with the name that TLS was to check. Nobody
    answers at any."""
    settings.MOCKLLM_ENV = "dev"
    settings.CHAT_ALLOWED_HOSTS = [NAME]
    tried: list[tuple[str, str]] = []

    async def record(_: object, sent: httpx2.Request) -> httpx2.Response:
        tried.append((sent.url.host, sent.extensions["sni_hostname"]))
        [place] = settings.CHAT_ALLOWED_HOSTS
        assert sent.headers["host"] == place
        raise httpx2.ConnectError("nobody is there")

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", record)
    return tried


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: tuple[str, ...]) -> list[tuple[str, int]]:
    """A resolver that gives one answer after another; what it was asked."""
    asked: list[tuple[str, int]] = []
    coming = iter(answers)

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        asked.append((host, port))
        return next(coming)

    monkeypatch.setattr(dialing, "resolve_host", resolve)
    return asked


async def heard_at(base_url: str, *, calls: int = 1) -> list[ReceivedAnswer]:
    client = get_client(profile("my-vllm", base_url=base_url), session="none")
    received = [await receive(client, request()) for _ in range(calls)]
    await client.aclose()
    return received


def failures(base_url: str, *, calls: int = 1) -> list[tuple[str, str]]:
    return [received.failed for received in asyncio.run(heard_at(base_url, calls=calls))]


def test_the_table_is_long_enough() -> None:
    assert len(ADDRESSES) >= 60


@each_address
def test_addresses_are_classified(address: str, kind: Reach) -> None:
    found = parse_ip_address(address)
    assert found is not None and classify_address(found) is kind


@each_address
def test_an_address_in_the_url_has_to_be_listed(settings: Any, address: str, kind: Reach) -> None:
    del kind  # whatever it is
    settings.MOCKLLM_ENV = "dev"
    with pytest.raises(ChatError) as raised:
        get_client(profile("my-vllm", base_url=f"http://{bracketed(address)}/v1"), session="none")
    assert (raised.value.code, raised.value.field) == (VALIDATION_ERROR, "base_url")


@each_address
def test_some_addresses_are_refused_even_if_listed(
    settings: Any, connected: list[tuple[str, str]], address: str, kind: Reach
) -> None:
    place = f"{bracketed(address)}:8080"
    settings.CHAT_ALLOWED_HOSTS = [place]
    if kind is Reach.NEVER:
        with pytest.raises(ChatError) as raised:
            get_client(profile("my-vllm", base_url=f"http://{place}/v1"), session="none")
        assert (raised.value.code, raised.value.field) == (VALIDATION_ERROR, "base_url")
    else:
        assert failures(f"http://{place}/v1") == [(NETWORK_ERROR, "Connection failed")]
        assert connected == [(address, address)]


@each_address
def test_a_name_leads_to_public_addresses_alone(
    connected: list[tuple[str, str]], address: str, kind: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving(monkeypatch, (address,))
    [(code, message)] = failures(URL)
    if kind is Reach.PUBLIC:
        assert code == NETWORK_ERROR
        assert connected == [(address, "llm.example")]
    else:
        assert code == VALIDATION_ERROR and address in message
        assert connected == []


@each_address
def test_one_bad_address_spoils_the_good_ones(
    connected: list[tuple[str, str]], address: str, kind: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving(monkeypatch, ("8.8.4.4", address))
    [(code, _)] = failures(URL)
    reached = [("8.8.4.4", "llm.example"), (address, "llm.example")]
    assert (code, connected) == (
        (NETWORK_ERROR, reached) if kind is Reach.PUBLIC else (VALIDATION_ERROR, [])
    )


@each_address
async def test_redirects_are_not_followed(settings: Any, address: str, kind: Reach) -> None:
    del kind  # whatever it is
    settings.MOCKLLM_ENV = "dev"
    target = f"http://{bracketed(address)}:1/v1/chat/completions"
    head = f"HTTP/1.1 307 Moved\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n".encode()
    async with raw_provider(head) as provider:
        settings.CHAT_ALLOWED_HOSTS = [provider.place]
        [received] = await heard_at(f"http://{provider.place}/v1")
        assert provider.connections == 1
    assert received.failed == (SERVICE_UNAVAILABLE, "The provider answered with HTTP 307")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_client_follows_a_redirect_even_to_where_it_is(
    settings: Any, monkeypatch: pytest.MonkeyPatch, family: str, status: int
) -> None:
    settings.MOCKLLM_ENV = "dev"
    monkeypatch.setenv("SOME_KEY", "sk-of-nobody")
    head = b"HTTP/1.1 %d Moved\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n" % status
    async with raw_provider(head) as provider:
        settings.CHAT_ALLOWED_HOSTS = [provider.place]
        asked = profile(family, base_url=f"http://{provider.place}", api_key_env="SOME_KEY")
        client = get_client(asked, session="none")
        received = await receive(client, request())
        await client.aclose()
        assert provider.connections == 1
    assert received.failed == (SERVICE_UNAVAILABLE, f"The provider answered with HTTP {status}")


def test_a_name_is_looked_up_once_and_kept(
    connected: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rebinding: what the name leads to later is not asked."""
    asked = resolving(monkeypatch, ("8.8.8.8",), ("169.254.169.254",))
    assert [code for code, _ in failures(URL, calls=3)] == [NETWORK_ERROR] * 3
    assert asked == [("llm.example", 8443)]
    assert {address for address, _ in connected} == {"8.8.8.8"}


def test_a_name_that_was_refused_is_looked_up_again(
    connected: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving(monkeypatch, ("10.0.0.1",), ("8.8.8.8",))
    assert [code for code, _ in failures(URL, calls=2)] == [VALIDATION_ERROR, NETWORK_ERROR]
    assert connected == [("8.8.8.8", "llm.example")]


@pytest.mark.parametrize("error", [OSError("no such host"), UnicodeError("label too long")])
def test_a_name_that_leads_nowhere(
    connected: list[tuple[str, str]], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        raise error

    monkeypatch.setattr(dialing, "resolve_host", resolve)
    assert failures(URL) == [(NETWORK_ERROR, "Connection failed")]


def test_a_name_without_addresses(
    connected: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving(monkeypatch, ())
    assert failures(URL) == [(NETWORK_ERROR, "Connection failed")]


def test_a_resolver_that_does_not_answer(
    connected: list[tuple[str, str]], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        await asyncio.Event().wait()
        return ()

    settings.CHAT_CONNECT_SECONDS = 0.05
    monkeypatch.setattr(dialing, "resolve_host", resolve)
    assert failures(URL) == [(NETWORK_ERROR, "Connection failed")]
