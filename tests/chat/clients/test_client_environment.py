"""Calls of profiles ignore the environment variables that SDKs read."""

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from chat_app.clients.registry import get_client
from chat_app.errors import SERVICE_UNAVAILABLE
from tests.chat.mock_provider import FAMILIES, KEY_VARIABLE, profile, receive, receive_once, request
from tests.chat.raw_provider import HEAD, RawProvider, raw_provider
from tests.sdk.test_test_mode_offline import Outbound
from tests.serving.modes import CATCH_ALL
from tests.support.live_server import Live

SECRET = "sk-live-0123456789"
# Nothing listens there: a client that used one of these would fail.
UNUSED_URL = "http://127.0.0.1:9"
HOSTILE_VARIABLES = {
    "OPENAI_BASE_URL": f"{UNUSED_URL}/v1",
    "OPENAI_API_KEY": "sk-other",
    "OPENAI_ORG_ID": "org-leak",
    "OPENAI_PROJECT_ID": "proj-leak",
    "OPENAI_CUSTOM_HEADERS": "X-Leak: 1\nAuthorization: Bearer sk-other",
    "ANTHROPIC_BASE_URL": UNUSED_URL,
    "ANTHROPIC_API_KEY": "sk-other",
    "ANTHROPIC_AUTH_TOKEN": "sk-other",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Leak: 1\nAuthorization: Bearer sk-other",
    "GOOGLE_API_KEY": "sk-other",
    "GEMINI_API_KEY": "sk-other",
    "GOOGLE_GEMINI_BASE_URL": UNUSED_URL,
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
    "GOOGLE_GENAI_USE_ENTERPRISE": "true",
    "GOOGLE_GENAI_API_VERSION": "v9",
    "GOOGLE_GENAI_HTTP_CLIENT": "httpx",
    "GOOGLE_GENAI_CLIENT_MODE": "replay",
    "GOOGLE_GENAI_REPLAYS_DIRECTORY": "/nowhere",
    "GOOGLE_CLOUD_PROJECT": "proj-leak",
    "GOOGLE_CLOUD_LOCATION": "us-leak1",
    "HTTP_PROXY": UNUSED_URL,
    "HTTPS_PROXY": UNUSED_URL,
    "ALL_PROXY": UNUSED_URL,
    "http_proxy": UNUSED_URL,
    "all_proxy": UNUSED_URL,
    "SSL_CERT_FILE": "/nowhere/certificates.pem",
}
COMMON_HEADERS = {
    "host",
    "accept",
    "accept-encoding",
    "content-type",
    "content-length",
    "user-agent",
}
BASE_URLS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com",
    "openrouter": "https://openrouter.ai/api/v1",
    "ollama": "http://localhost:11434/v1",
    "my-vllm": "https://llm.example/v1",
}

each_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture
def hostile_environment(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    settings.MOCKLLM_ENV = "dev"
    for name, value in HOSTILE_VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(KEY_VARIABLE, SECRET)
    return settings


async def capture_request(family: str, settings: Any) -> RawProvider:
    async with raw_provider(HEAD) as provider:
        settings.CHAT_ALLOWED_HOSTS = [provider.address]
        columns = {"base_url": f"http://{provider.address}", "api_key_env": KEY_VARIABLE}
        client = get_client(profile(family, **columns), session="chat-1")
        await receive(client, request())
        await client.aclose()
    return provider


@each_family
def test_calls_go_to_the_base_url_of_the_profile(hostile_environment: Any, family: str) -> None:
    assert len(asyncio.run(capture_request(family, hostile_environment)).heads) == 1


@each_family
def test_requests_have_only_the_expected_headers(hostile_environment: Any, family: str) -> None:
    headers = asyncio.run(capture_request(family, hostile_environment)).headers()
    auth_headers = {
        "openai": {"authorization"},
        "anthropic": {"authorization", "anthropic-version"},
        "google": {"x-goog-api-key"},
    }
    assert headers.keys() == COMMON_HEADERS | auth_headers[family]
    assert headers.get("authorization", f"Bearer {SECRET}") == f"Bearer {SECRET}"
    assert headers.get("x-goog-api-key", SECRET) == SECRET


@each_family
def test_key_is_not_logged_at_debug_level(
    hostile_environment: Any, family: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        assert asyncio.run(capture_request(family, hostile_environment)).heads
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
def test_key_echoed_by_the_provider_is_in_no_message_or_log(
    hostile_environment: Any,
    family: str,
    head: bytes,
    body: str,
    message: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def receive_failure() -> tuple[str, str]:
        async with raw_provider(head, body.replace("%s", SECRET).encode()) as provider:
            hostile_environment.CHAT_ALLOWED_HOSTS = [provider.address]
            columns = {"base_url": f"http://{provider.address}", "api_key_env": KEY_VARIABLE}
            client = get_client(profile(family, **columns), session="chat-1")
            received = await receive(client, request())
            await client.aclose()
            return received.failure

    with caplog.at_level("INFO"):
        code, error_message = asyncio.run(receive_failure())
    assert code == SERVICE_UNAVAILABLE
    assert error_message == (message or "Failed to parse response")
    assert SECRET not in caplog.text


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make every connection and name look-up fail, to this machine too."""

    def refuse(*_: object, **__: object) -> None:
        raise Outbound("a connection")

    with monkeypatch.context() as patched:
        for name in ("connect", "connect_ex", "sendto"):
            patched.setattr(socket.socket, name, refuse)
        patched.setattr(socket, "getaddrinfo", refuse)
        yield


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("provider_id", BASE_URLS)
def test_provider_url_is_answered_in_process_in_test_mode(
    live: Live, provider_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in HOSTILE_VARIABLES.items():
        monkeypatch.setenv(name, value)
    live.load({**CATCH_ALL, "steps": [{"consume": False, "produce": {"text": "Here."}}]})
    columns = {"base_url": BASE_URLS[provider_id], "api_key_env": "NOT_SET_ANYWHERE"}
    client = get_client(profile(provider_id, **columns), session="chat-offline")
    assert receive_once(client, request()).text == "Here."
