"""OpenAI's API, Azure's, and those that speak a dialect of it."""

from urllib.parse import urlsplit

from scenarios_app.wire.upstream import DIALECT_HEADER, SdkClient, Upstream

PROVIDER = "openai"


def _vendor(name: str, base_url: str, *telemetry_names: str) -> Upstream:
    """Return the real API of a vendor. Its name is in paths here and in the key's variable."""
    return Upstream(
        name,
        base_url=base_url,
        hosts=(urlsplit(base_url).netloc,),
        path_prefix=f"/{name}",
        routing_header=(DIALECT_HEADER, name),
        key_variables=(f"{name.upper()}_API_KEY",),
        telemetry_names=telemetry_names,
    )


UPSTREAMS = (
    Upstream(
        PROVIDER,
        base_url="https://api.openai.com",
        hosts=("api.openai.com",),
        routing_header=(DIALECT_HEADER, PROVIDER),
        key_variables=("OPENAI_API_KEY",),
        # LangChain, LiteLLM and old SDKs read OPENAI_API_BASE.
        base_url_variables=(("OPENAI_BASE_URL", "/v1"), ("OPENAI_API_BASE", "/v1")),
        unset_variables=("OPENAI_ORG_ID", "OPENAI_PROJECT_ID"),
        sdk_clients=(
            SdkClient("openai.OpenAI", "base_url", "api_key"),
            SdkClient("openai.AsyncOpenAI", "base_url", "api_key"),
        ),
        replayed_headers=("openai-version", "openai-model", "openai-processing-ms"),
    ),
    _vendor("openrouter", "https://openrouter.ai/api/v1"),
    Upstream("vllm", path_prefix="/vllm", routing_header=(DIALECT_HEADER, "vllm")),
    _vendor("deepseek", "https://api.deepseek.com"),
    _vendor("groq", "https://api.groq.com/openai/v1"),
    _vendor("mistral", "https://api.mistral.ai", "mistral_ai"),
    _vendor("xai", "https://api.x.ai", "x_ai"),
)
# Not a provider of its own: steps match its requests as those of OpenAI.
AZURE = Upstream(
    "azure",
    # A server that records OpenAI alone takes Azure's paths for OpenAI's.
    fallback=PROVIDER,
    hosts=(".openai.azure.com", ".services.ai.azure.com"),
    routing_header=(DIALECT_HEADER, "azure"),
    own_path_prefix="/openai",
    key_variables=("AZURE_OPENAI_API_KEY",),
    base_url_variables=(("AZURE_OPENAI_ENDPOINT", ""),),
    key_header="api-key",
    telemetry_names=("azure.ai.openai", "azure.ai.inference"),
)


def upstream_of(name: str) -> Upstream:
    """Return the API of this name."""
    return next(upstream for upstream in (*UPSTREAMS, AZURE) if upstream.name == name)
