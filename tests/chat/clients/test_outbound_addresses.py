"""Allowed addresses of calls: in the URL, resolved from a name, or in a redirect."""

import asyncio
from typing import Any

import httpx2
import pytest

from chat_app.clients.registry import get_client
from chat_app.errors import NETWORK_ERROR, SERVICE_UNAVAILABLE, VALIDATION_ERROR, ChatError
from mockllm_site.kit import dial as dialing
from mockllm_site.kit.addresses import Reach, classify_address, parse_ip_address
from tests.chat.addresses import ADDRESSES, to_url_host
from tests.chat.mock_provider import FAMILIES, ReceivedAnswer, profile, receive, request
from tests.chat.raw_provider import raw_provider

NAME = "llm.example:8443"
URL = f"https://{NAME}/v1"

each_address = pytest.mark.parametrize(("address", "reach"), ADDRESSES.items())


@pytest.fixture
def connection_attempts(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Make every connection fail; return the attempted addresses with the names for TLS."""
    settings.MOCKLLM_ENV = "dev"
    settings.CHAT_ALLOWED_HOSTS = [NAME]
    attempts: list[tuple[str, str]] = []

    async def refuse_connection(_: object, http_request: httpx2.Request) -> httpx2.Response:
        attempts.append((http_request.url.host, http_request.extensions["sni_hostname"]))
        [allowed_host] = settings.CHAT_ALLOWED_HOSTS
        assert http_request.headers["host"] == allowed_host
        raise httpx2.ConnectError("nobody is there")

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", refuse_connection)
    return attempts


def fake_resolver(
    monkeypatch: pytest.MonkeyPatch, *answers: tuple[str, ...]
) -> list[tuple[str, int]]:
    """Replace the resolver by one that gives these answers in order; return its queries."""
    queries: list[tuple[str, int]] = []
    remaining = iter(answers)

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        queries.append((host, port))
        return next(remaining)

    monkeypatch.setattr(dialing, "resolve_host", resolve)
    return queries


async def call_provider(base_url: str, *, calls: int = 1) -> list[ReceivedAnswer]:
    client = get_client(profile("my-vllm", base_url=base_url), session="none")
    received = [await receive(client, request()) for _ in range(calls)]
    await client.aclose()
    return received


def call_and_get_failures(base_url: str, *, calls: int = 1) -> list[tuple[str, str]]:
    return [received.failure for received in asyncio.run(call_provider(base_url, calls=calls))]


def test_address_table_has_at_least_sixty_entries() -> None:
    assert len(ADDRESSES) >= 60


@each_address
def test_addresses_are_classified(address: str, reach: Reach) -> None:
    parsed = parse_ip_address(address)
    assert parsed is not None and classify_address(parsed) is reach


@each_address
def test_an_address_in_the_url_has_to_be_listed(settings: Any, address: str, reach: Reach) -> None:
    del reach  # The URL alone decides.
    settings.MOCKLLM_ENV = "dev"
    with pytest.raises(ChatError) as raised:
        get_client(profile("my-vllm", base_url=f"http://{to_url_host(address)}/v1"), session="none")
    assert (raised.value.code, raised.value.field) == (VALIDATION_ERROR, "base_url")


@each_address
def test_some_addresses_are_refused_even_if_listed(
    settings: Any, connection_attempts: list[tuple[str, str]], address: str, reach: Reach
) -> None:
    endpoint = f"{to_url_host(address)}:8080"
    settings.CHAT_ALLOWED_HOSTS = [endpoint]
    if reach is Reach.NEVER:
        with pytest.raises(ChatError) as raised:
            get_client(profile("my-vllm", base_url=f"http://{endpoint}/v1"), session="none")
        assert (raised.value.code, raised.value.field) == (VALIDATION_ERROR, "base_url")
    else:
        assert call_and_get_failures(f"http://{endpoint}/v1") == [
            (NETWORK_ERROR, "Connection failed")
        ]
        assert connection_attempts == [(address, address)]


@each_address
def test_names_may_resolve_to_public_addresses_only(
    connection_attempts: list[tuple[str, str]],
    address: str,
    reach: Reach,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_resolver(monkeypatch, (address,))
    [(code, message)] = call_and_get_failures(URL)
    if reach is Reach.PUBLIC:
        assert code == NETWORK_ERROR
        assert connection_attempts == [(address, "llm.example")]
    else:
        assert code == VALIDATION_ERROR and address in message
        assert connection_attempts == []


@each_address
def test_one_forbidden_address_forbids_the_name(
    connection_attempts: list[tuple[str, str]],
    address: str,
    reach: Reach,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_resolver(monkeypatch, ("8.8.4.4", address))
    [(code, _)] = call_and_get_failures(URL)
    expected_attempts = [("8.8.4.4", "llm.example"), (address, "llm.example")]
    assert (code, connection_attempts) == (
        (NETWORK_ERROR, expected_attempts) if reach is Reach.PUBLIC else (VALIDATION_ERROR, [])
    )


@each_address
async def test_redirects_are_not_followed(settings: Any, address: str, reach: Reach) -> None:
    del reach  # The URL alone decides.
    settings.MOCKLLM_ENV = "dev"
    target = f"http://{to_url_host(address)}:1/v1/chat/completions"
    head = f"HTTP/1.1 307 Moved\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n".encode()
    async with raw_provider(head) as provider:
        settings.CHAT_ALLOWED_HOSTS = [provider.address]
        [received] = await call_provider(f"http://{provider.address}/v1")
        assert provider.connections == 1
    assert received.failure == (SERVICE_UNAVAILABLE, "The provider answered with HTTP 307")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirect_to_the_same_host_is_not_followed(
    settings: Any, monkeypatch: pytest.MonkeyPatch, family: str, status: int
) -> None:
    settings.MOCKLLM_ENV = "dev"
    monkeypatch.setenv("SOME_KEY", "sk-of-nobody")
    head = b"HTTP/1.1 %d Moved\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n" % status
    async with raw_provider(head) as provider:
        settings.CHAT_ALLOWED_HOSTS = [provider.address]
        client_profile = profile(
            family, base_url=f"http://{provider.address}", api_key_env="SOME_KEY"
        )
        client = get_client(client_profile, session="none")
        received = await receive(client, request())
        await client.aclose()
        assert provider.connections == 1
    assert received.failure == (SERVICE_UNAVAILABLE, f"The provider answered with HTTP {status}")


def test_resolved_address_is_cached(
    connection_attempts: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: a later address of the name is not looked up."""
    queries = fake_resolver(monkeypatch, ("8.8.8.8",), ("169.254.169.254",))
    assert [code for code, _ in call_and_get_failures(URL, calls=3)] == [NETWORK_ERROR] * 3
    assert queries == [("llm.example", 8443)]
    assert {address for address, _ in connection_attempts} == {"8.8.8.8"}


def test_forbidden_name_is_resolved_again(
    connection_attempts: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_resolver(monkeypatch, ("10.0.0.1",), ("8.8.8.8",))
    assert [code for code, _ in call_and_get_failures(URL, calls=2)] == [
        VALIDATION_ERROR,
        NETWORK_ERROR,
    ]
    assert connection_attempts == [("8.8.8.8", "llm.example")]


@pytest.mark.parametrize("error", [OSError("no such host"), UnicodeError("label too long")])
def test_unresolvable_name_is_a_connection_failure(
    connection_attempts: list[tuple[str, str]], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        raise error

    monkeypatch.setattr(dialing, "resolve_host", resolve)
    assert call_and_get_failures(URL) == [(NETWORK_ERROR, "Connection failed")]


def test_name_without_addresses_is_a_connection_failure(
    connection_attempts: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_resolver(monkeypatch, ())
    assert call_and_get_failures(URL) == [(NETWORK_ERROR, "Connection failed")]


def test_resolver_timeout_is_a_connection_failure(
    connection_attempts: list[tuple[str, str]], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        await asyncio.Event().wait()
        return ()

    settings.CHAT_CONNECT_SECONDS = 0.05
    monkeypatch.setattr(dialing, "resolve_host", resolve)
    assert call_and_get_failures(URL) == [(NETWORK_ERROR, "Connection failed")]
