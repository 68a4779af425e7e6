"""Gemini's real API."""

from scenarios_app.wire.upstream import SdkClient, Upstream

PROVIDER = "gemini"

UPSTREAM = Upstream(
    PROVIDER,
    base_url="https://generativelanguage.googleapis.com",
    hosts=("generativelanguage.googleapis.com",),
    # The AI SDK reads the third one.
    key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"),
    base_url_variables=(("GOOGLE_GEMINI_BASE_URL", ""),),
    unset_variables=("GOOGLE_GENAI_USE_VERTEXAI",),
    key_header="x-goog-api-key",
    sdk_clients=(
        SdkClient(
            "google.genai.Client", "_api_client._http_options.base_url", "_api_client.api_key"
        ),
    ),
    telemetry_names=("gcp.gemini", "gcp.gen_ai"),
)
