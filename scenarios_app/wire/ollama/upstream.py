"""Ollama's real API."""

from scenarios_app.wire.upstream import DIALECT_HEADER, SdkClient, Upstream

PROVIDER = "ollama"

UPSTREAM = Upstream(
    PROVIDER,
    base_url="http://127.0.0.1:11434",
    hosts=("ollama.com",),
    routing_header=(DIALECT_HEADER, PROVIDER),
    key_variables=("OLLAMA_API_KEY",),
    base_url_variables=(("OLLAMA_HOST", ""),),
    sdk_clients=(
        SdkClient("ollama.Client", "_client.base_url"),
        SdkClient("ollama.AsyncClient", "_client.base_url"),
    ),
)
