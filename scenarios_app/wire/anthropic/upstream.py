"""Anthropic's real API."""

from scenarios_app.wire.upstream import SdkClient, Upstream

PROVIDER = "anthropic"

UPSTREAM = Upstream(
    PROVIDER,
    base_url="https://api.anthropic.com",
    hosts=("api.anthropic.com",),
    key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    base_url_variables=(("ANTHROPIC_BASE_URL", ""),),
    unset_variables=("ANTHROPIC_AUTH_TOKEN",),
    key_header="x-api-key",
    headers=(("anthropic-version", "2023-06-01"),),
    sdk_clients=(
        SdkClient("anthropic.Anthropic", "base_url", "api_key"),
        SdkClient("anthropic.AsyncAnthropic", "base_url", "api_key"),
    ),
    replayed_headers=("request-id",),
)
