"""SDKs read the environment; profiles' calls do not."""

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from chat_app.clients.registry import get_client
from chat_app.errors import SERVICE_UNAVAILABLE
from tests.chat.raw_provider import HEAD, RawProvider, raw_provider
from tests.chat.ways import FAMILIES, KEY_VARIABLE, ask, profile, receive, request
from tests.sdk.test_test_mode_offline import Outbound
from tests.serving.modes import CATCH_ALL
from tests.support.live_server import Live

SECRET = "sk-live-0123456789"
# Nothing listens there: a client that used one of these would fail.
ELSEWHERE = "http://127.0.0.1:9"
HOSTILE = {
    "OPENAI_BASE_URL": f"{ELSEWHERE}/v1",
    "OPENAI_API_KEY": "sk-other",
    "OPENAI_ORG_ID": "org-leak",
    "OPENAI_PROJECT_ID": "proj-leak",
    "OPENAI_CUSTOM_HEADERS": "X-Leak: 1\nAuthorization: Bearer sk-other",
    "ANTHROPIC_BASE_URL": ELSEWHERE,
    "ANTHROPIC_API_KEY": "sk-other",
    "ANTHROPIC_AUTH_TOKEN": "sk-other",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Leak: 1\nAuthorization: Bearer sk-other",
    "GOOGLE_API_KEY": "sk-other",
    "GEMINI_API_KEY": "sk-other",
    "GOOGLE_GEMINI_BASE_URL": ELSEWHERE,
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
    "GOOGLE_GENAI_USE_ENTERPRISE": "true",
    "GOOGLE_GENAI_API_VERSION": "v9",
    "GOOGLE_GENAI_HTTP_CLIENT": "httpx",
    "GOOGLE_GENAI_CLIENT_MODE": "replay",
    "GOOGLE_GENAI_REPLAYS_DIRECTORY": "/nowhere",
    "GOOGLE_CLOUD_PROJECT": "proj-leak",
    "GOOGLE_CLOUD_LOCATION": "us-leak1",
    "HTTP_PROXY": ELSEWHERE,
    "HTTPS_PROXY": ELSEWHERE,
    "ALL_PROXY": ELSEWHERE,
    "http_proxy": ELSEWHERE,
    "all_proxy": ELSEWHERE,
    "SSL_CERT_FILE": "/nowhere/certificates.pem",
}
SENT = {
    "host",
    "accept",
    "accept-encoding",
    "content-type",
    "content-length",
    "user-agent",
}
ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com",
    "openrouter": "https://openrouter.ai/api/v1",
    "ollama": "http://localhost:11434/v1",
    "my-vllm": "https://llm.example/v1",
}

each_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture
def hostile(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    settings.MOCKLLM_ENV = "dev"
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(KEY_VARIABLE, SECRET)
    return settings


async def heads_of(family: str, settings: Any) -> RawProvider:
    async with raw_provider(HEAD) as provider:
        settings.CHAT_ALLOWED_HOSTS = [provider.place]
        columns = {"base_url": f"http://{provider.place}", "api_key_env": KEY_VARIABLE}
        client = get_client(profile(family, **columns), session="chat-1")
        await receive(client, request())
        await client.aclose()
    return provider


@each_family
def test_calls_go_where_the_profile_says(hostile: Any, family: str) -> None:
    assert len(asyncio.run(heads_of(family, hostile)).heads) == 1


@each_family
def test_nothing_else_goes_with_them(hostile: Any, family: str) -> None:
    headers = asyncio.run(heads_of(family, hostile)).headers()
    own = {
        "openai": {"authorization"},
        "anthropic": {"authorization", "anthropic-version"},
        "google": {"x-goog-api-key"},
    }
    assert headers.keys() == SENT | own[family]
    assert headers.get("authorization", f"Bearer {SECRET}") == f"Bearer {SECRET}"
    assert headers.get("x-goog-api-key", SECRET) == SECRET


@each_family
def test_a_key_is_in_no_log_however_much_is_logged(
    hostile: Any, family: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        assert asyncio.run(heads_of(family, hostile)).heads
    assert caplog.records != [] and SECRET not in caplog.text


NOT_FOUND = b"HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"


@each_family
@pytest.mark.parametrize(
    ("head", "body", "message"),
    [
        (NOT_FOUND, '{"error": {"message": "no model for %s"}}', "no model for …"),
        (HEAD, 'event: message_start\ndata: {"error" %s\n\n', "Failed to parse response"),
        (HEAD, 'event: x\ndata: {"candidates": "%s", "choices": "%s"}\n\n', None),
    ],
    ids=["an error", "no JSON", "another shape"],
)
def test_a_key_that_is_said_back_is_in_no_message_and_no_log(
    hostile: Any,
    family: str,
    head: bytes,
    body: str,
    message: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def once() -> tuple[str, str]:
        async with raw_provider(head, body.replace("%s", SECRET).encode()) as provider:
            hostile.CHAT_ALLOWED_HOSTS = [provider.place]
            columns = {"base_url": f"http://{provider.place}", "api_key_env": KEY_VARIABLE}
            client = get_client(profile(family, **columns), session="chat-1")
            received = await receive(client, request())
            await client.aclose()
            return received.failed

    with caplog.at_level("INFO"):
        code, found = asyncio.run(once())
    assert code == SERVICE_UNAVAILABLE
    assert found == (message or "Failed to parse response")
    assert SECRET not in caplog.text


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Not even this machine may be connected to, and no name looked up."""

    def refuse(*_: object, **__: object) -> None:
        raise Outbound("a connection")

    with monkeypatch.context() as patched:
        for name in ("connect", "connect_ex", "sendto"):
            patched.setattr(socket.socket, name, refuse)
        patched.setattr(socket, "getaddrinfo", refuse)
        yield


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("provider_id", ADDRESSES)
def test_in_test_mode_a_providers_own_address_is_answered_in_process(
    live: Live, provider_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)
    live.load({**CATCH_ALL, "steps": [{"consume": False, "produce": {"text": "Here."}}]})
    columns = {"base_url": ADDRESSES[provider_id], "api_key_env": "NOT_SET_ANYWHERE"}
    client = get_client(profile(provider_id, **columns), session="chat-offline")
    assert ask(client, request()).text == "Here."
