"""Connections go to checked addresses; TLS and the server get the name."""

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from chat_app.clients.registry import get_client
from chat_app.clients.transports import EndpointTransport
from chat_app.errors import NETWORK_ERROR
from mockllm_site.kit import dial as dialing
from tests.chat.mock_provider import ReceivedAnswer, profile, receive, request
from tests.chat.raw_provider import HEAD, raw_provider
from tests.support.required_services import require

ANSWER_BYTES = (
    b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
)


@pytest.fixture(autouse=True)
def outside_test_mode(settings: Any) -> None:
    settings.MOCKLLM_ENV = "dev"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a certificate for `localhost`, with its key beside it."""
    require(shutil.which("openssl") is not None, "there is no openssl")
    path = tmp_path_factory.mktemp("tls") / "localhost.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    files = ["-keyout", str(path.with_suffix(".key")), "-out", str(path)]
    names = ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    return path


def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    return context


def fake_resolver(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return addresses

    monkeypatch.setattr(dialing, "resolve_host", resolve)


async def call_provider(base_url: str) -> ReceivedAnswer:
    client = get_client(profile("my-vllm", base_url=base_url), session="none")
    received = await receive(client, request())
    await client.aclose()
    return received


async def test_next_address_is_tried_when_one_is_unreachable(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_resolver(monkeypatch, "127.0.0.2", "127.0.0.1")
    async with raw_provider(HEAD, ANSWER_BYTES) as provider:
        endpoint = f"localhost:{provider.port}"
        settings.CHAT_ALLOWED_HOSTS = [endpoint]
        received = await call_provider(f"http://{endpoint}/v1")
        assert provider.headers()["host"] == endpoint
    assert received.text == "Hi"


async def test_real_resolver_resolves_localhost(settings: Any) -> None:
    async with raw_provider(HEAD, ANSWER_BYTES) as provider:
        endpoint = f"localhost:{provider.port}"
        settings.CHAT_ALLOWED_HOSTS = [endpoint]
        assert (await call_provider(f"http://{endpoint}/v1")).text == "Hi"


@pytest.mark.parametrize(("host", "server_name"), [("localhost", "localhost"), ("127.0.0.1", None)])
async def test_tls_checks_the_name_and_not_the_address(
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    certificate: Path,
    host: str,
    server_name: str | None,
) -> None:
    """The certificate is for `localhost` only, so the IP address is not trusted."""
    fake_resolver(monkeypatch, "127.0.0.1")
    names: list[str | None] = []
    context = server_context(certificate)
    context.sni_callback = lambda _, name, __: names.append(name)
    client_context = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(dialing, "tls_context", lambda: client_context)
    async with raw_provider(HEAD, ANSWER_BYTES, tls=context) as provider:
        endpoint = f"{host}:{provider.port}"
        settings.CHAT_ALLOWED_HOSTS = [endpoint]
        received = await call_provider(f"https://{endpoint}/v1")
    assert names == [server_name]
    if server_name:
        assert received.text == "Hi"
    else:
        assert received.failure == (NETWORK_ERROR, "Connection failed")


async def test_untrusted_certificate_gets_no_request(
    settings: Any, monkeypatch: pytest.MonkeyPatch, certificate: Path
) -> None:
    """The machine's CA certificates do not include the server's."""
    fake_resolver(monkeypatch, "127.0.0.1")
    async with raw_provider(HEAD, ANSWER_BYTES, tls=server_context(certificate)) as provider:
        endpoint = f"localhost:{provider.port}"
        settings.CHAT_ALLOWED_HOSTS = [endpoint]
        received = await call_provider(f"https://{endpoint}/v1")
        assert provider.heads == []
    assert received.failure == (NETWORK_ERROR, "Connection failed")


async def test_transport_refuses_another_endpoint(settings: Any) -> None:
    settings.CHAT_ALLOWED_HOSTS = ["127.0.0.1:1", "127.0.0.1:2"]
    transport = EndpointTransport("http://127.0.0.1:1/v1")
    with pytest.raises(Exception, match=r"127\.0\.0\.1:2 is not"):
        await transport.handle_async_request(httpx2.Request("POST", "http://127.0.0.1:2/v1"))
    await transport.aclose()


async def test_concurrent_first_calls_share_one_transport() -> None:
    transport = EndpointTransport("https://api.openai.com/v1")
    first, second = await asyncio.gather(transport._inner_transport(), transport._inner_transport())
    await transport.aclose()
    assert first is second
