"""The environment variables that point SDKs and tools at a server."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final

from scenarios_app.recording.upstreams import KEY_VARIABLES

# A key of the real thing would name the provider's own session, or be sent along.
UNSET = (
    "ANTHROPIC_AUTH_TOKEN",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
)

# What stands in for a key that nobody has; SDKs want one before they ask.
NO_KEY: Final = "mockllm-no-key"


def sdk_variables(base_url: str, api_key: str, *, environment: Mapping[str, str]) -> dict[str, str]:
    """Base URLs and keys by the names that SDKs read; the key is the session. What else the
    `environment` reaches without a proxy it still does."""
    openai = f"{base_url}/v1"
    return {
        "MOCKLLM_URL": base_url,
        "OPENAI_BASE_URL": openai,
        # What LangChain and LiteLLM read, and others of old.
        "OPENAI_API_BASE": openai,
        "OPENAI_API_KEY": api_key,
        "AZURE_OPENAI_ENDPOINT": base_url,
        "AZURE_OPENAI_API_KEY": api_key,
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": api_key,
        "GOOGLE_GEMINI_BASE_URL": base_url,
        "GOOGLE_VERTEX_BASE_URL": base_url,
        "GOOGLE_API_KEY": api_key,
        "GEMINI_API_KEY": api_key,
        "OLLAMA_HOST": base_url,
        "OLLAMA_API_KEY": api_key,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": base_url,
        "AWS_BEARER_TOKEN_BEDROCK": api_key,
        **{name: _unproxied(environment.get(name, "")) for name in ("NO_PROXY", "no_proxy")},
    }


def _unproxied(hosts: str) -> str:
    return ",".join(filter(None, (hosts, "127.0.0.1", "localhost")))


@contextmanager
def clients_made_at_import() -> Iterator[None]:
    """Clients that SDKs make as they are imported have the variables of now, while this lasts."""
    # The functions of ollama's module (`ollama.chat`) are methods of such a client.
    client: Any = getattr(sys.modules.get("ollama"), "_client", None)
    if not hasattr(client, "_client"):
        yield
        return
    before, client._client = client._client, type(client)()._client
    try:
        yield
    finally:
        client._client.close()
        client._client = before


# Base URLs of servers between people and the provider.
BASES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        "azure": ("AZURE_OPENAI_ENDPOINT",),
        "anthropic": ("ANTHROPIC_BASE_URL",),
        "gemini": ("GOOGLE_GEMINI_BASE_URL",),
        "ollama": ("OLLAMA_HOST",),
    }
)


def real_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """The keys of an environment by provider, the first of each."""
    return _first(KEY_VARIABLES, environment)


def base_urls(environment: Mapping[str, str]) -> dict[str, str]:
    """The servers that SDKs are pointed at in an environment, by provider."""
    found = _first(BASES, environment)
    return {name: url for name, url in found.items() if url.startswith(("http://", "https://"))}


def recorded_variables(base_url: str, *, environment: Mapping[str, str]) -> dict[str, str]:
    """As `sdk_variables`, for clients whose requests are passed on: the keys that they have they
    keep, and where they have none of a provider there is one that only says so."""
    variables = sdk_variables(base_url, NO_KEY, environment=environment)
    for names in KEY_VARIABLES.values():
        if any(environment.get(name) for name in names):
            for name in names:
                variables.pop(name, None)
    return variables


def _first(table: Mapping[str, tuple[str, ...]], environment: Mapping[str, str]) -> dict[str, str]:
    found = {
        provider: next((environment[name] for name in names if environment.get(name)), "")
        for provider, names in table.items()
    }
    return {provider: value for provider, value in found.items() if value}
