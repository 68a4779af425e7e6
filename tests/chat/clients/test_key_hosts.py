"""Forty variables × ten hosts: a key arrives where the operator's list says, and nowhere else."""

from typing import Any

import pytest

from chat_app.clients.registry import get_client
from chat_app.clients.transports import PROVIDER_KEYS, is_listed_key_name
from chat_app.errors import VALIDATION_ERROR, ChatError
from tests.chat.raw_provider import HEAD, raw_provider
from tests.chat.ways import profile, receive, request

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
LISTED = [("MY_GATEWAY_KEY", "llm.example:8443"), ("LOCAL_KEY", "127.0.0.1:8080")]


@pytest.fixture
def listed(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    settings.MOCKLLM_ENV = "dev"
    settings.CHAT_ALLOWED_HOSTS = list(HOSTS)
    settings.CHAT_KEYS = LISTED
    for name in NAMES:
        monkeypatch.setenv(name, f"canary-{name}")
    return settings


def url_of(host: str) -> str:
    plain = host.startswith(("127.", "localhost", "[::1]"))
    return f"{'http' if plain else 'https'}://{host}/v1"


def test_only_listed_pairs_make_a_client(listed: Any) -> None:
    assert len(NAMES) == 40
    sent = set()
    for name in NAMES:
        for host in HOSTS:
            asked = profile("mine", base_url=url_of(host), api_key_env=name)
            try:
                client = get_client(asked, session="none")
            except ChatError as error:
                assert (error.code, error.field) == (VALIDATION_ERROR, "api_key_env")
                assert f"{name}@" in error.message and "canary" not in error.message
            else:
                assert client.route.key == f"canary-{name}"
                sent.add((name, host))
    assert sent == {*PROVIDER_KEYS, *LISTED}


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
def test_a_pair_is_exactly_itself(listed: Any, name: str, host: str) -> None:
    listed.CHAT_ALLOWED_HOSTS = [*HOSTS, "api.openai.com:8443", "api.openai.com:80"]
    listed.CHAT_ALLOWED_HOSTS += ["api.openai.com.llm.example"]
    with pytest.raises(ChatError) as raised:
        get_client(profile("mine", base_url=host, api_key_env=name), session="none")
    assert raised.value.field == "api_key_env"


async def test_a_variable_that_is_not_listed_reaches_no_socket(
    listed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw_provider(HEAD) as provider:
        listed.CHAT_ALLOWED_HOSTS = [provider.place]
        listed.CHAT_KEYS = [("LOCAL_KEY", provider.place)]
        base_url = f"http://{provider.place}/v1"
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


def test_whether_other_variables_are_set_is_told_nobody(listed: Any) -> None:
    assert is_listed_key_name("OPENAI_API_KEY") and is_listed_key_name("LOCAL_KEY")
    assert not any(map(is_listed_key_name, ("AWS_SECRET_ACCESS_KEY", "HOME", "OPENAI_API")))
