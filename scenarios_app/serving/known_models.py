"""The models that a models list names: the shipped ones, those in scenarios, those in settings."""

from collections.abc import Iterable, Mapping

from scenarios_app.engine.index import Index

# By provider, and there the owner too; each provider lists its own alone.
SHIPPED: Mapping[str, tuple[str, ...]] = {
    "openai": (
        "gpt-6-astra",
        "gpt-5",
        "gpt-5-mini",
        "gpt-5-nano",
        "gpt-4.1",
        "gpt-4.1-mini",
        "gpt-4.1-nano",
        "gpt-4o",
        "gpt-4o-mini",
        "gpt-4-turbo",
        "gpt-4",
        "gpt-3.5-turbo",
        "gpt-3.5-turbo-instruct",
        "o1",
        "o3",
        "o3-mini",
        "o4-mini",
        "omni-moderation-latest",
        "text-embedding-3-large",
        "text-embedding-3-small",
        "text-embedding-ada-002",
    ),
    "anthropic": (
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-opus-5",
        "claude-sonnet-5",
        "claude-opus-4-5",
        "claude-opus-4-1",
        "claude-sonnet-4-5",
        "claude-haiku-4-5",
        "claude-opus-4-0",
        "claude-sonnet-4-0",
        "claude-3-7-sonnet-latest",
        "claude-3-5-haiku-latest",
    ),
    "gemini": (
        "gemini-3.8-flash",
        "gemini-3.5-flash",
        "gemini-3.1-pro-preview",
        "gemini-3.1-flash-lite",
        "gemini-3-pro-preview",
        "gemini-3-flash-preview",
        "gemini-2.5-pro",
        "gemini-2.5-flash",
        "gemini-2.5-flash-lite",
        "gemini-2.0-flash",
        "gemini-2.0-flash-lite",
        "gemini-1.5-pro",
        "gemini-1.5-flash",
        "gemini-embedding-2",
        "gemini-embedding-001",
        "text-embedding-004",
    ),
    "ollama": (
        "llama3.3",
        "llama3.2",
        "llama3.2-vision",
        "llama3.1",
        "gpt-oss:20b",
        "gpt-oss:120b",
        "qwen3",
        "qwen2.5-coder",
        "gemma3",
        "mistral",
        "phi4",
        "deepseek-r1",
        "nomic-embed-text",
        "mxbai-embed-large",
        "all-minilm",
    ),
}
OURS = "mockllm"


def known_models(provider: str, index: Index, extra: Iterable[str]) -> dict[str, str]:
    """Model names with their owners, as one provider lists them."""
    named = {
        condition.equals: OURS
        for scenario in index.by_name.values()
        for step in scenario.steps
        for condition in step.match.model
        if condition.equals
    }
    shipped = dict.fromkeys(SHIPPED.get(provider, ()), provider)
    return {**dict.fromkeys(extra, OURS), **named, **shipped}
