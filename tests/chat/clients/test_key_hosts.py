"""Forty variables × ten hosts: keys are sent only to the hosts in the operator's list."""

from typing import Any

import pytest

from chat_app.clients.registry import get_client
from chat_app.clients.transports import PROVIDER_KEYS, is_listed_key_name
from chat_app.errors import VALIDATION_ERROR, ChatError
from tests.chat.mock_provider import profile, receive, request
from tests.chat.raw_provider import HEAD, raw_provider

HOSTS = (
    "api.openai.com",
    "api.anthropic.com",
    "generativelanguage.googleapis.com",
    "openrouter.ai",
    "llm.example",
    "llm.example:8443",
    "other.example",
    "127.0.0.1:8080",
    "localhost:11434",
    "[::1]:8080",
)
NAMES = (
    *(name for name, _ in PROVIDER_KEYS),
    *("MY_GATEWAY_KEY", "LOCAL_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"),
    *("AWS_SESSION_TOKEN", "AZURE_OPENAI_API_KEY", "AZURE_CLIENT_SECRET", "GITHUB_TOKEN"),
    *("GITLAB_TOKEN", "NPM_TOKEN", "PYPI_TOKEN", "DOCKER_PASSWORD", "PGPASSWORD", "MYSQL_PWD"),
    *("POSTGRES_PASSWORD", "DJANGO_SUPERUSER_PASSWORD", "SENTRY_DSN", "STRIPE_API_KEY"),
    *("SLACK_TOKEN", "TWILIO_AUTH_TOKEN", "SENDGRID_API_KEY", "HF_TOKEN", "GROQ_API_KEY"),
    *("MISTRAL_API_KEY", "COHERE_API_KEY", "XAI_API_KEY", "DEEPSEEK_API_KEY", "VAULT_TOKEN"),
    *("KUBECONFIG", "SSH_AUTH_SOCK", "HOME", "PATH", "HOSTNAME", "OPENAI_ADMIN_KEY"),
    *("ANTHROPIC_ADMIN_KEY",),
)
CONFIGURED_KEYS = [("MY_GATEWAY_KEY", "llm.example:8443"), ("LOCAL_KEY", "127.0.0.1:8080")]


@pytest.fixture
def listed_keys(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    settings.MOCKLLM_ENV = "dev"
    settings.CHAT_ALLOWED_HOSTS = list(HOSTS)
    settings.CHAT_KEYS = CONFIGURED_KEYS
    for name in NAMES:
        monkeypatch.setenv(name, f"canary-{name}")
    return settings


def url_of(host: str) -> str:
    plain = host.startswith(("127.", "localhost", "[::1]"))
    return f"{'http' if plain else 'https'}://{host}/v1"


def test_only_listed_pairs_make_a_client(listed_keys: Any) -> None:
    assert len(NAMES) == 40
    accepted_pairs = set()
    for name in NAMES:
        for host in HOSTS:
            candidate = profile("mine", base_url=url_of(host), api_key_env=name)
            try:
                client = get_client(candidate, session="none")
            except ChatError as error:
                assert (error.code, error.field) == (VALIDATION_ERROR, "api_key_env")
                assert f"{name}@" in error.message and "canary" not in error.message
            else:
                assert client.route.key == f"canary-{name}"
                accepted_pairs.add((name, host))
    assert accepted_pairs == {*PROVIDER_KEYS, *CONFIGURED_KEYS}


@pytest.mark.parametrize(
    ("name", "host"),
    [
        # Another port, no TLS, a longer and a shorter name, and another variable.
        ("MY_GATEWAY_KEY", "https://llm.example/v1"),
        ("OPENAI_API_KEY", "https://api.openai.com:8443/v1"),
        ("OPENAI_API_KEY", "http://api.openai.com/v1"),
        ("OPENAI_API_KEY", "https://api.openai.com.llm.example/v1"),
        ("OPENAI_API", "https://api.openai.com/v1"),
    ],
)
def test_key_needs_the_exact_host_port_and_name(listed_keys: Any, name: str, host: str) -> None:
    listed_keys.CHAT_ALLOWED_HOSTS = [*HOSTS, "api.openai.com:8443", "api.openai.com:80"]
    listed_keys.CHAT_ALLOWED_HOSTS += ["api.openai.com.llm.example"]
    with pytest.raises(ChatError) as raised:
        get_client(profile("mine", base_url=host, api_key_env=name), session="none")
    assert raised.value.field == "api_key_env"


async def test_unlisted_variable_is_not_sent(
    listed_keys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw_provider(HEAD) as provider:
        listed_keys.CHAT_ALLOWED_HOSTS = [provider.address]
        listed_keys.CHAT_KEYS = [("LOCAL_KEY", provider.address)]
        base_url = f"http://{provider.address}/v1"
        with pytest.raises(ChatError):
            get_client(
                profile("mine", base_url=base_url, api_key_env="AWS_SECRET_ACCESS_KEY"),
                session="none",
            )
        assert provider.connections == 0
        client = get_client(
            profile("mine", base_url=base_url, api_key_env="LOCAL_KEY"), session="none"
        )
        await receive(client, request())
        await client.aclose()
        assert provider.headers()["authorization"] == "Bearer canary-LOCAL_KEY"


def test_unlisted_variable_names_are_not_listed_keys(listed_keys: Any) -> None:
    assert is_listed_key_name("OPENAI_API_KEY") and is_listed_key_name("LOCAL_KEY")
    assert not any(map(is_listed_key_name, ("AWS_SECRET_ACCESS_KEY", "HOME", "OPENAI_API")))
