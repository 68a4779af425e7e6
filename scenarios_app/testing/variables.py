"""The environment variables that point SDKs and tools at a server."""

from collections.abc import Mapping

# A key of the real thing would name the provider's own session, or be sent along.
UNSET = (
    "ANTHROPIC_AUTH_TOKEN",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
)


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
