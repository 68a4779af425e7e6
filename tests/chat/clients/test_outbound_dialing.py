"""Connections to the addresses that were looked at: the name stays what TLS and the server see."""

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
from tests.chat.raw_provider import HEAD, raw_provider
from tests.chat.ways import ReceivedAnswer, profile, receive, request
from tests.support.required_services import require

ANSWER_BYTES = (
    b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
)


@pytest.fixture(autouse=True)
def outside_test_mode(settings: Any) -> None:
    settings.MOCKLLM_ENV = "dev"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for `localhost`; its key lies beside it."""
    require(shutil.which("openssl") is not None, "there is no openssl")
    path = tmp_path_factory.mktemp("tls") / "localhost.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    files = ["-keyout", str(path.with_suffix(".key")), "-out", str(path)]
    names = ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    return path


def serving(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    return context


def resolves_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return addresses

    monkeypatch.setattr(dialing, "resolve_host", resolve)


async def heard_at(base_url: str) -> ReceivedAnswer:
    client = get_client(profile("my-vllm", base_url=base_url), session="none")
    received = await receive(client, request())
    await client.aclose()
    return received


async def test_the_next_address_is_tried_where_one_is_dead(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolves_to(monkeypatch, "127.0.0.2", "127.0.0.1")
    async with raw_provider(HEAD, ANSWER_BYTES) as provider:
        place = f"localhost:{provider.port}"
        settings.CHAT_ALLOWED_HOSTS = [place]
        received = await heard_at(f"http://{place}/v1")
        assert provider.headers()["host"] == place
    assert received.text == "Hi"


async def test_the_real_resolver_knows_this_machine(settings: Any) -> None:
    async with raw_provider(HEAD, ANSWER_BYTES) as provider:
        place = f"localhost:{provider.port}"
        settings.CHAT_ALLOWED_HOSTS = [place]
        assert (await heard_at(f"http://{place}/v1")).text == "Hi"


@pytest.mark.parametrize(("host", "seen"), [("localhost", "localhost"), ("127.0.0.1", None)])
async def test_tls_checks_the_name_and_not_the_address(
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    certificate: Path,
    host: str,
    seen: str | None,
) -> None:
    """The certificate is for `localhost` alone: by number, the same server is not believed."""
    resolves_to(monkeypatch, "127.0.0.1")
    names: list[str | None] = []
    context = serving(certificate)
    context.sni_callback = lambda _, name, __: names.append(name)
    trusting = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(dialing, "tls_context", lambda: trusting)
    async with raw_provider(HEAD, ANSWER_BYTES, tls=context) as provider:
        place = f"{host}:{provider.port}"
        settings.CHAT_ALLOWED_HOSTS = [place]
        received = await heard_at(f"https://{place}/v1")
    assert names == [seen]
    if seen:
        assert received.text == "Hi"
    else:
        assert received.failed == (NETWORK_ERROR, "Connection failed")


async def test_a_stranger_on_the_other_end_is_not_talked_to(
    settings: Any, monkeypatch: pytest.MonkeyPatch, certificate: Path
) -> None:
    """With this machine's own certificates, nobody vouches for that one."""
    resolves_to(monkeypatch, "127.0.0.1")
    async with raw_provider(HEAD, ANSWER_BYTES, tls=serving(certificate)) as provider:
        place = f"localhost:{provider.port}"
        settings.CHAT_ALLOWED_HOSTS = [place]
        received = await heard_at(f"https://{place}/v1")
        assert provider.heads == []
    assert received.failed == (NETWORK_ERROR, "Connection failed")


async def test_a_transport_speaks_to_its_own_place_alone(settings: Any) -> None:
    settings.CHAT_ALLOWED_HOSTS = ["127.0.0.1:1", "127.0.0.1:2"]
    transport = EndpointTransport("http://127.0.0.1:1/v1")
    with pytest.raises(Exception, match=r"127\.0\.0\.1:2 is not"):
        await transport.handle_async_request(httpx2.Request("POST", "http://127.0.0.1:2/v1"))
    await transport.aclose()
