"""The providers that profiles may name: whose API each speaks, where it is, whether it wants a key.

Any other provider is a custom one: OpenAI's API at the profile's own base URL.
"""

from collections.abc import Mapping
from dataclasses import dataclass

TEST_LLM = "test-llm"


@dataclass(frozen=True, slots=True)
class Family:
    """Providers that speak one API. `home` is the base URL that its SDK knows; `key_header` and
    `key_form` are how a key is sent; `module` is what has to be there to import."""

    module: str
    home: str
    key_header: str = "authorization"
    key_form: str = "Bearer {}"


@dataclass(frozen=True, slots=True)
class Provider:
    family: Family
    base_url: str
    needs_key: bool = True


OPENAI = Family("openai", "https://api.openai.com/v1")
ANTHROPIC = Family("anthropic", "https://api.anthropic.com")
GOOGLE = Family("google.genai", "https://generativelanguage.googleapis.com", "x-goog-api-key", "{}")

PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(OPENAI, OPENAI.home),
    "anthropic": Provider(ANTHROPIC, ANTHROPIC.home),
    "google": Provider(GOOGLE, GOOGLE.home),
    "openrouter": Provider(OPENAI, "https://openrouter.ai/api/v1"),
    "ollama": Provider(OPENAI, "http://127.0.0.1:11434/v1", needs_key=False),
    TEST_LLM: Provider(OPENAI, OPENAI.home, needs_key=False),
}
_CUSTOM = Provider(OPENAI, "", needs_key=False)


def provider_of(provider_id: str) -> Provider:
    """A custom provider has no base URL of its own."""
    return PROVIDERS.get(provider_id, _CUSTOM)
