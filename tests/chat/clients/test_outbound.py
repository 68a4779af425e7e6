"""Base URLs of profiles: CHAT_ALLOWED_HOSTS and URL parsing."""

from typing import Any

import pytest

from chat_app.clients.transports import check_base_url, endpoint_of
from chat_app.errors import VALIDATION_ERROR, ChatError


def refusal_message(base_url: str, provider_id: str = "my-vllm") -> str:
    with pytest.raises(ChatError) as raised:
        check_base_url(provider_id, base_url)
    assert (raised.value.code, raised.value.field) == (VALIDATION_ERROR, "base_url")
    return raised.value.message


def is_allowed(provider_id: str, base_url: str) -> bool:
    try:
        check_base_url(provider_id, base_url)
    except ChatError:
        return False
    return True


@pytest.mark.parametrize(
    "base_url",
    [
        "https://api.openai.com/v1",
        "https://api.openai.com:443/v1",
        "HTTPS://API.OpenAI.com/v1",
        "https://api.anthropic.com",
        "https://generativelanguage.googleapis.com/v1beta",
        "https://openrouter.ai/api/v1",
        "http://127.0.0.1:11434/v1",
        "http://localhost:11434/v1",
        "mock:",
    ],
)
def test_named_providers_and_a_local_ollama_are_allowed_by_default(base_url: str) -> None:
    assert is_allowed("my-vllm", base_url)


@pytest.mark.parametrize(
    "provider_id", ["openai", "anthropic", "google", "openrouter", "ollama", "test-llm"]
)
def test_a_provider_known_by_name_needs_no_base_url(provider_id: str) -> None:
    assert is_allowed(provider_id, "")


def test_custom_provider_needs_a_base_url() -> None:
    assert "my-vllm" in refusal_message("")


@pytest.mark.parametrize(
    "base_url",
    [
        "https://api.openai.com.evil.example/v1",
        "https://evil-api.openai.com/v1",
        "https://openai.com/v1",
        "https://api.openai.com:8443/v1",
        "http://api.openai.com/v1",
        "http://api.openai.com:443/v1",
        "http://127.0.0.1/v1",
        "http://127.0.0.1:8000/v1",
        "http://127.0.0.2:11434/v1",
        "http://localhost/v1",
        "https://xn--pi-7ia.openai.com/v1",
    ],
)
def test_other_hosts_are_refused(base_url: str) -> None:
    assert "CHAT_ALLOWED_HOSTS" in refusal_message(base_url)


@pytest.mark.parametrize(
    "base_url",
    [
        "api.openai.com/v1",
        "//api.openai.com/v1",
        "https:api.openai.com",
        "https:///v1",
        "https://",
        "ftp://api.openai.com/v1",
        "file:///etc/passwd",
        "gopher://127.0.0.1:11434/_x",
        "mock",
        "mock:x",
        "mock://api.openai.com",
        "javascript:alert(1)",
        "https://user@api.openai.com/v1",
        "https://user:password@api.openai.com/v1",
        "https://evil.example@api.openai.com/v1",
        "https://api.openai.com@evil.example/v1",
        "https://api.openai.com\\@evil.example/v1",
        "https://evil.example\\.api.openai.com/v1",
        "https://api.openai.com/v1?key=x",
        "https://api.openai.com/v1#x",
        "https://api.openai.com./v1",
        "https://api.openai.com:0/v1",
        "https://api.openai.com:99999999/v1",
        "https://api.openai.com:x/v1",
        "https://api%2eopenai.com/v1",
        " https://api.openai.com/v1",
        "https://api.openai.com/v1 ",
        "https://api.openai.com/v1\n",
        "https://api.openai.com/\r\nHost: evil.example",
        "https://api.open\tai.com/v1",
        "https://ａpi.openai.com/v1",
        "https://api。openai。com/v1",
        "https://[::1/v1",
        "https://[fe80::1%25eth0]:11434/v1",
        "https://\x00/v1",
    ],
)
def test_malformed_base_url_is_refused(base_url: str) -> None:
    refusal_message(base_url)


@pytest.mark.parametrize(
    "base_url",
    [
        "http://2130706433:11434/v1",
        "http://0x7f000001:11434/v1",
        "http://0177.0.0.1:11434/v1",
        "http://127.1:11434/v1",
        "http://127.0.0.1.:11434/v1",
        "http://[::ffff:127.0.0.1]:11434/v1",
        "http://[::1]:11434/v1",
        "http://localhost.:11434/v1",
        "http://localhost.localdomain:11434/v1",
        "http://127.0.0.1.nip.io:11434/v1",
    ],
)
def test_other_spellings_of_localhost_are_refused(base_url: str) -> None:
    refusal_message(base_url)


@pytest.mark.parametrize(
    ("entry", "base_url"),
    [
        ("llm.example", "https://llm.example/v1"),
        ("LLM.example", "https://llm.example/v1"),
        ("llm.example:8443", "https://llm.example:8443"),
        ("llm.example:8080", "http://llm.example:8080/v1"),
        ("llm.example:80", "http://llm.example/v1"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("[::1]:8080", "http://[::1]:8080/v1"),
        ("10.1.2.3:8000", "http://10.1.2.3:8000/v1"),
    ],
)
def test_configured_host_is_allowed(settings: Any, entry: str, base_url: str) -> None:
    settings.CHAT_ALLOWED_HOSTS = [entry]
    assert is_allowed("my-vllm", base_url)


@pytest.mark.parametrize(
    ("entry", "base_url"),
    [
        ("llm.example", "http://llm.example/v1"),
        ("llm.example", "https://llm.example:8443/v1"),
        ("llm.example:8443", "https://llm.example/v1"),
        ("*", "https://llm.example/v1"),
        ("*.example", "https://llm.example/v1"),
        (".example", "https://llm.example/v1"),
        ("https://llm.example", "https://llm.example/v1"),
        ("llm.example:x", "https://llm.example/v1"),
        ("169.254.169.254:80", "http://169.254.169.254/latest"),
        ("llm.example", "https://api.openai.com/v1"),
    ],
)
def test_other_entries_do_not_allow_the_url(settings: Any, entry: str, base_url: str) -> None:
    settings.CHAT_ALLOWED_HOSTS = [entry]
    refusal_message(base_url)


def test_refusal_names_the_endpoint_as_a_settings_entry() -> None:
    assert "llm.example:8443 is not in CHAT_ALLOWED_HOSTS" in refusal_message(
        "https://llm.example:8443/v1"
    )
    assert "llm.example:80 is not" in refusal_message("http://llm.example/v1")
    assert "llm.example is not" in refusal_message("https://llm.example/v1")
    assert "[2606:4700::1]:8080 is not" in refusal_message("http://[2606:4700::1]:8080/v1")


def test_endpoint_is_scheme_host_and_port() -> None:
    assert endpoint_of("https://api.openai.com/v1") == ("https", "api.openai.com", 443)
    assert endpoint_of("http://localhost:11434") == ("http", "localhost", 11434)
