"""The named providers: their API, base URL, and whether they need a key. Any other provider is a
custom one: OpenAI's API at the profile's own base URL."""

from collections.abc import Mapping
from dataclasses import dataclass

TEST_LLM = "test-llm"


@dataclass(frozen=True, slots=True)
class ApiFamily:
    """Providers with the same API. `default_base_url` is that of its SDK; `key_header` and
    `key_form` say how the key is sent; `module` must be installed, and `first_import` is what the
    first call imports."""

    module: str
    default_base_url: str
    first_import: str
    key_header: str = "authorization"
    key_form: str = "Bearer {}"


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider; custom ones have no base URL."""

    family: ApiFamily
    base_url: str
    needs_key: bool = True


OPENAI = ApiFamily("openai", "https://api.openai.com/v1", "openai.resources.chat.completions")
ANTHROPIC = ApiFamily("anthropic", "https://api.anthropic.com", "anthropic.resources.messages")
GOOGLE = ApiFamily(
    "google.genai",
    "https://generativelanguage.googleapis.com",
    "google.genai",
    key_header="x-goog-api-key",
    key_form="{}",
)

PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(OPENAI, OPENAI.default_base_url),
    "anthropic": Provider(ANTHROPIC, ANTHROPIC.default_base_url),
    "google": Provider(GOOGLE, GOOGLE.default_base_url),
    "openrouter": Provider(OPENAI, "https://openrouter.ai/api/v1"),
    "ollama": Provider(OPENAI, "http://127.0.0.1:11434/v1", needs_key=False),
    TEST_LLM: Provider(OPENAI, OPENAI.default_base_url, needs_key=False),
}
_CUSTOM = Provider(OPENAI, "", needs_key=False)


def provider_of(provider_id: str) -> Provider:
    """Return a provider by its id; unknown ids are custom providers without a base URL."""
    return PROVIDERS.get(provider_id, _CUSTOM)
