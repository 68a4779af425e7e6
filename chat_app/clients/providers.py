"""The providers that profiles may name: whose API each speaks, where it is, whether it wants a key.

Any other provider is a custom one: OpenAI's API at the profile's own base URL.
"""

from collections.abc import Mapping
from dataclasses import dataclass

TEST_LLM = "test-llm"


@dataclass(frozen=True, slots=True)
class Family:
    """Providers that speak one API. `home` is the base URL that its SDK knows; `key_header` and
    `key_form` are how a key is sent; `module` is what has to be there to import, and `loads` what
    the first call does import."""

    module: str
    home: str
    loads: str
    key_header: str = "authorization"
    key_form: str = "Bearer {}"


@dataclass(frozen=True, slots=True)
class Provider:
    family: Family
    base_url: str
    needs_key: bool = True


OPENAI = Family("openai", "https://api.openai.com/v1", "openai.resources.chat.completions")
ANTHROPIC = Family("anthropic", "https://api.anthropic.com", "anthropic.resources.messages")
GOOGLE = Family(
    "google.genai",
    "https://generativelanguage.googleapis.com",
    "google.genai",
    key_header="x-goog-api-key",
    key_form="{}",
)

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
