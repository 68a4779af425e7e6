"""The client, base URL and key that a profile gets."""

import os
import subprocess
import sys
from typing import Any

import pytest

from chat_app.clients.anthropic import AnthropicClient
from chat_app.clients.google import GoogleClient
from chat_app.clients.openai import HarnessClient, OpenAIClient
from chat_app.clients.registry import get_client
from chat_app.clients.transports import EndpointTransport
from chat_app.errors import (
    SERVICE_UNAVAILABLE,
    UNAUTHORIZED,
    VALIDATION_ERROR,
    ChatError,
)
from mockllm_site.kit import env
from scenarios_app.serving.transport import MockTransport
from tests.chat.mock_provider import KEY_VARIABLE, profile

SECRET = "sk-live-0123456789"
PROVIDERS = {
    "openai": (OpenAIClient, "https://api.openai.com/v1"),
    "anthropic": (AnthropicClient, "https://api.anthropic.com"),
    "google": (GoogleClient, "https://generativelanguage.googleapis.com"),
    "openrouter": (OpenAIClient, "https://openrouter.ai/api/v1"),
    "ollama": (OpenAIClient, "http://127.0.0.1:11434/v1"),
}
NEED_KEYS = ("openai", "anthropic", "google", "openrouter")


@pytest.fixture
def dev(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Settings outside test mode, with a key in the environment."""
    settings.MOCKLLM_ENV = "dev"
    monkeypatch.setenv(KEY_VARIABLE, SECRET)
    return settings


def client_of(provider_id: str, **columns: Any) -> Any:
    return get_client(profile(provider_id, **columns), session="chat-1")


def get_client_error(provider_id: str, **columns: Any) -> ChatError:
    with pytest.raises(ChatError) as raised:
        client_of(provider_id, **columns)
    return raised.value


@pytest.mark.parametrize("provider_id", PROVIDERS)
def test_ch_t10_each_provider_has_its_client(dev: Any, provider_id: str) -> None:
    client_class, base_url = PROVIDERS[provider_id]
    client = client_of(provider_id, api_key_env=KEY_VARIABLE)
    assert type(client) is client_class
    assert client.route.base_url == base_url
    assert isinstance(client.route.transport, EndpointTransport)


def test_ch_t10_any_other_provider_speaks_openais_api_at_its_base_url(dev: Any) -> None:
    dev.CHAT_ALLOWED_HOSTS = ["llm.example:8443"]
    client = client_of("my-vllm", base_url="https://llm.example:8443/v1")
    assert type(client) is OpenAIClient
    assert client.route.base_url == "https://llm.example:8443/v1"


def test_ch_t10_test_llm_is_openais_client_in_process(dev: Any) -> None:
    client = client_of("test-llm")
    assert type(client) is HarnessClient and isinstance(client, OpenAIClient)
    assert isinstance(client.route.transport, MockTransport)


@pytest.mark.parametrize("provider_id", ["", "  "])
def test_profile_without_a_provider_is_refused(provider_id: str) -> None:
    error = get_client_error(provider_id)
    assert (error.code, error.message) == (VALIDATION_ERROR, "Provider is required")


@pytest.mark.parametrize("mode", ["dev", "test"])
def test_a_custom_provider_needs_a_base_url(settings: Any, mode: str) -> None:
    settings.MOCKLLM_ENV = mode
    error = get_client_error("my-vllm")
    assert (error.code, error.field) == (VALIDATION_ERROR, "base_url")


@pytest.mark.parametrize("provider_id", ["openai", "anthropic", "google", "my-vllm"])
def test_mock_url_is_answered_in_process(dev: Any, provider_id: str) -> None:
    client = client_of(provider_id, base_url="mock:", api_key_env="NOT_SET_ANYWHERE")
    assert isinstance(client.route.transport, MockTransport)
    assert client.route.headers["X-MockLLM-Session"] == "chat-1"


@pytest.mark.parametrize("provider_id", [*PROVIDERS, "my-vllm"])
def test_every_profile_is_answered_in_process_in_test_mode(
    provider_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, SECRET)
    url = "https://169.254.169.254/v1"
    client = client_of(provider_id, base_url=url, api_key_env=KEY_VARIABLE)
    assert isinstance(client.route.transport, MockTransport)
    assert SECRET not in str(client.route.headers)


def test_session_header_is_sent_to_the_mock_only(dev: Any) -> None:
    client = client_of("openai", api_key_env=KEY_VARIABLE)
    assert list(client.route.headers) == ["authorization"]


@pytest.mark.parametrize("provider_id", NEED_KEYS)
@pytest.mark.parametrize("name", ["", "NOT_SET_ANYWHERE"])
def test_missing_key_is_an_error_before_any_call(dev: Any, provider_id: str, name: str) -> None:
    error = get_client_error(provider_id, api_key_env=name)
    assert error.code == UNAUTHORIZED
    assert error.message.startswith("Invalid API key: ") and name in error.message


@pytest.mark.parametrize("value", ["with\nnewline", "schlüssel", "two words"])
def test_invalid_key_value_is_not_sent(
    dev: Any, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, value)
    error = get_client_error("openai", api_key_env=KEY_VARIABLE)
    assert error.code == UNAUTHORIZED and value not in error.message


@pytest.mark.parametrize(
    ("provider_id", "header", "value"),
    [
        ("openai", "authorization", f"Bearer {SECRET}"),
        ("anthropic", "authorization", f"Bearer {SECRET}"),
        ("google", "x-goog-api-key", SECRET),
        ("ollama", "authorization", f"Bearer {SECRET}"),
    ],
)
def test_a_key_comes_from_the_environment(
    dev: Any, provider_id: str, header: str, value: str
) -> None:
    client = client_of(provider_id, api_key_env=KEY_VARIABLE)
    assert client.route.headers == {header: value}
    assert SECRET not in repr(client.route)


def test_key_may_come_from_the_dotenv_file(dev: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(env.variables().maps[0], "KEY_OF_DOTENV", SECRET)
    client = client_of("openai", api_key_env="KEY_OF_DOTENV")
    assert client.route.key == SECRET


def test_ollama_needs_no_key(dev: Any) -> None:
    assert client_of("ollama").route.headers == {}


def test_a_key_goes_to_no_host_that_is_not_allowed(dev: Any) -> None:
    error = get_client_error("openai", base_url="https://evil.example/v1", api_key_env=KEY_VARIABLE)
    assert (error.code, error.field) == (VALIDATION_ERROR, "base_url")
    assert "evil.example" in error.message and SECRET not in error.message


def _find_no_package(name: str) -> None:
    """Raise like `find_spec` for a module in a missing package."""
    if "." in name:
        raise ModuleNotFoundError(name)


@pytest.mark.parametrize("provider_id", ["openai", "anthropic", "google"])
def test_a_missing_sdk_names_the_extra(provider_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chat_app.clients.registry.find_spec", _find_no_package)
    error = get_client_error(provider_id)
    assert error.code == SERVICE_UNAVAILABLE and "mockllm-server[chat]" in error.message


def test_choosing_a_client_imports_no_sdk() -> None:
    """Each SDK takes a second to import, and most processes use few of them."""
    program = """
import sys, django
django.setup()
from chat_app.clients.registry import get_client
from chat_app.models import ModelProfile
for name in ("openai", "anthropic", "google", "test-llm"):
    get_client(ModelProfile(provider_id=name, model_id="m"), session="s")
sdks = "openai", "anthropic", "google.genai", "mcp"
print([name for name in (*sdks, "httpx") if name in sys.modules])
"""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "mockllm_site.settings_test"}
    process = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    # OpenAI's SDK looks for httpx at each call, so it is imported under the SDKs' lock.
    assert (process.stdout, process.returncode) == ("[]\n", 0), process.stderr
