"""The Ollama wire: chat and generate, embeddings and models."""

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.wire.base import (
    Call,
    Endpoint,
    Headers,
    Wire,
    encode_line,
    retry_after_seconds,
)
from scenarios_app.wire.ollama import models
from scenarios_app.wire.ollama.answer import (
    CHAT,
    GENERATE,
    LineEncoder,
    render_load,
    render_response,
)
from scenarios_app.wire.ollama.decode import DECODER
from scenarios_app.wire.ollama.request import (
    PROVIDER,
    read_chat,
    read_embed,
    read_embedding,
    read_empty,
    read_generate,
    read_show,
)
from scenarios_app.wire.ollama.sample import MODELS, clients, sample
from scenarios_app.wire.samples import SampleCall, SampleRequest, SdkSetup
from scenarios_app.wire.upstream import DIALECT_HEADER, Upstream


def error_body(error: ErrorAnswer) -> bytes:
    return encode_line({"error": error.message})


def error_line(error: ErrorAnswer) -> bytes:
    """Return an error as the last line of a stream."""
    return error_body(error) + b"\n"


def answer_headers(error: ErrorAnswer | None) -> Headers:
    """Return the retry headers, which other providers' SDKs read; Ollama has none."""
    headers: Headers = ()
    if error is not None and error.retry_after_ms is not None:
        headers += (("retry-after", retry_after_seconds(error.retry_after_ms)),)
    if error is not None and error.retryable is not None:
        headers += (("x-should-retry", "true" if error.retryable else "false"),)
    return headers


_BEARER = "bearer "


_ENDPOINTS = (
    Endpoint(
        "POST",
        CHAT,
        read_chat,
        render=render_response,
        encode=LineEncoder,
        decoder=DECODER,
        compute=render_load,
        cache_key=lambda request: (request.own, request.reasoning),
    ),
    Endpoint(
        "POST",
        GENERATE,
        read_generate,
        render=render_response,
        encode=LineEncoder,
        decoder=DECODER,
        compute=render_load,
        cacheable_by_body=True,
    ),
    Endpoint("POST", "/api/embed", read_embed, compute=models.embed),
    Endpoint("POST", "/api/embeddings", read_embedding, compute=models.embedding),
    Endpoint("POST", "/api/show", read_show, compute=models.show_model),
    Endpoint("GET", "/api/tags", read_empty, compute=models.list_models),
    Endpoint("HEAD", "/api/tags", read_empty, compute=models.list_models),
    Endpoint("GET", "/api/ps", read_empty, compute=models.list_running),
    Endpoint("GET", "/api/version", read_empty, compute=models.show_version),
    Endpoint("HEAD", "/api/version", read_empty, compute=models.show_version),
)


class Ollama:
    """Ollama's own API. A local server needs no key; if a key is sent, it names the session."""

    name = "ollama"
    title = "Ollama"
    models = MODELS
    key_headers: tuple[str, ...] = ("authorization",)
    provider = PROVIDER
    endpoints: tuple[Endpoint, ...] = _ENDPOINTS
    # Other paths below `/api/` are not Ollama's.
    prefixes: tuple[str, ...] = tuple(dict.fromkeys(endpoint.pattern for endpoint in _ENDPOINTS))
    tool_call_prefix = "call_"
    sequential = False
    signs_reasoning = False
    stream_type = "application/x-ndjson"
    malformed_body = b'{"model":"broken","created_at":"2025-01-01T00:00:00Z","message":{"role":"as'
    malformed_event = malformed_body + b"\n"
    upstream: Upstream | None = Upstream(
        PROVIDER,
        base_url="http://127.0.0.1:11434",
        routing_header=(DIALECT_HEADER, PROVIDER),
        key_variables=("OLLAMA_API_KEY",),
        base_url_variables=(("OLLAMA_HOST", ""),),
    )

    def sample(self, request: SampleRequest) -> SampleCall:
        return sample(request)

    def clients(self, origin: str) -> tuple[SdkSetup, ...]:
        return clients(origin)

    def claims(self, call: Call) -> bool:
        return True

    def api_key(self, call: Call) -> str | None:
        sent = call.headers.get("authorization", "")
        if sent[: len(_BEARER)].lower() != _BEARER:
            return None
        return sent[len(_BEARER) :].strip() or None

    def authorise(self, call: Call) -> None:
        """Require no key."""

    def check(self, call: Call) -> None:
        """Require no header."""

    def error(self, error: ErrorAnswer, *, request_id: str) -> bytes:
        return error_body(error)

    def stream_error(self, error: ErrorAnswer, *, sent: int) -> bytes:
        return error_line(error)

    def headers(self, *, request_id: str, created: int, error: ErrorAnswer | None) -> Headers:
        return answer_headers(error)


WIRE: Wire = Ollama()
