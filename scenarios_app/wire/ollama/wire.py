"""The Ollama wire: chat and generate, embeddings and models."""

from collections.abc import Mapping

from msgspec.structs import replace

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.wire.base import Call, Endpoint, Wire, bearer_token, encode_line
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
    read_chat,
    read_embed,
    read_embedding,
    read_empty,
    read_generate,
    read_show,
)
from scenarios_app.wire.ollama.sample import MODELS, sample, sdk_setups
from scenarios_app.wire.ollama.upstream import PROVIDER, UPSTREAM

_OWN_ERRORS: Mapping[str, ErrorAnswer] = {
    "rate_limited": ErrorAnswer(429, "too many concurrent requests"),
    "overloaded": ErrorAnswer(
        503, "server busy, please try again.  maximum pending requests exceeded"
    ),
}


_GENERATION = Endpoint(
    "POST",
    CHAT,
    read_chat,
    render=render_response,
    encode=LineEncoder,
    decoder=DECODER,
    compute=render_load,
)
_ENDPOINTS = (
    _GENERATION,
    replace(_GENERATION, pattern=GENERATE, read=read_generate),
    Endpoint("POST", "/api/embed", read_embed, compute=models.compute_embeddings),
    Endpoint("POST", "/api/embeddings", read_embedding, compute=models.compute_embedding),
    Endpoint("POST", "/api/show", read_show, compute=models.show_model),
    Endpoint("GET", "/api/tags", read_empty, compute=models.list_models),
    Endpoint("HEAD", "/api/tags", read_empty, compute=models.list_models),
    Endpoint("GET", "/api/ps", read_empty, compute=models.list_running),
    Endpoint("GET", "/api/version", read_empty, compute=models.show_version),
    Endpoint("HEAD", "/api/version", read_empty, compute=models.show_version),
)


class Ollama(Wire):
    """Ollama's own API. A local server needs no key; if a key is sent, it names the session.

    Errors have retry headers. Ollama itself sends none, but other providers' SDKs read them.
    """

    name = "ollama"
    title = "Ollama"
    models = MODELS
    key_headers = ("authorization",)
    provider = PROVIDER
    endpoints = _ENDPOINTS
    # Other paths below `/api/` are not Ollama's.
    prefixes = tuple(dict.fromkeys(endpoint.pattern for endpoint in _ENDPOINTS))
    tool_call_prefix = "call_"
    sequential = False
    signs_reasoning = False
    stream_type = "application/x-ndjson"
    malformed_body = b'{"model":"broken","created_at":"2025-01-01T00:00:00Z","message":{"role":"as'
    malformed_event = malformed_body + b"\n"
    own_errors = _OWN_ERRORS
    upstream = UPSTREAM
    sample = staticmethod(sample)
    sdk_setups = staticmethod(sdk_setups)

    def claims(self, call: Call) -> bool:
        return True

    def api_key(self, call: Call) -> str | None:
        return bearer_token(call)

    def error(self, error: ErrorAnswer, *, request_id: str) -> bytes:
        return encode_line({"error": error.message})

    def stream_error(self, error: ErrorAnswer, *, events_sent: int) -> bytes:
        return encode_line({"error": error.message}) + b"\n"


WIRE: Wire = Ollama()
