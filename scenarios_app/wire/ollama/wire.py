"""The Ollama wire: chat and generate, and the computed answers about embeddings and models."""

from collections.abc import Mapping

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse
from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.wire.base import (
    Call,
    Facts,
    Headers,
    Route,
    StreamEncoder,
    Wire,
    encode_json,
    encode_line,
    retry_after_seconds,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.ollama import embeddings as ollama_embeddings
from scenarios_app.wire.ollama import models as ollama_models
from scenarios_app.wire.ollama.answer import CHAT, GENERATE, LineEncoder, nothing, whole
from scenarios_app.wire.ollama.fields import unloads
from scenarios_app.wire.ollama.request import PROVIDER, read_request
from scenarios_app.wire.ollama.sample import clients, sample
from scenarios_app.wire.ollama.shipped import MODELS
from scenarios_app.wire.samples import Asked, Sdk, Sent


def error_body(error: ErrorAnswer) -> bytes:
    return encode_line({"error": error.message})


def error_line(error: ErrorAnswer) -> bytes:
    """The same as the last line of a stream that has begun with status 200."""
    return error_body(error) + b"\n"


def answer_headers(error: ErrorAnswer | None) -> Headers:
    """Ollama has no headers of its own; these are HTTP's, and the one that SDKs of others obey."""
    headers: Headers = ()
    if error is not None and error.retry_after_ms is not None:
        headers += (("retry-after", retry_after_seconds(error.retry_after_ms)),)
    if error is not None and error.retryable is not None:
        headers += (("x-should-retry", "true" if error.retryable else "false"),)
    return headers


_BEARER = "bearer "


class Ollama:
    """Ollama's own API as its clients read and write it. A server of one's own asks for no key;
    one that is sent all the same, as to Ollama's cloud, names the session."""

    name = "ollama"
    title = "Ollama"
    models = MODELS
    key_headers: tuple[str, ...] = ("authorization",)
    provider = PROVIDER
    routes: tuple[Route, ...] = (
        Route("POST", CHAT, "chat"),
        Route("POST", GENERATE, "generate"),
        Route("POST", "/api/embed", "embed", "compute"),
        Route("POST", "/api/embeddings", "embeddings", "compute"),
        Route("POST", "/api/show", "show", "compute"),
        Route("GET", "/api/tags", "tags", "compute"),
        Route("HEAD", "/api/tags", "tags", "compute"),
        Route("GET", "/api/ps", "ps", "compute"),
        Route("GET", "/api/version", "version", "compute"),
        Route("HEAD", "/api/version", "version", "compute"),
    )
    # The rest of `/api/` belongs to others.
    prefixes: tuple[str, ...] = tuple(dict.fromkeys(route.pattern for route in routes))
    tool_call_prefix = "call_"
    sequential = False
    signs_reasoning = False
    stream_type = "application/x-ndjson"
    malformed_body = b'{"model":"broken","created_at":"2025-01-01T00:00:00Z","message":{"role":"as'
    malformed_event = malformed_body + b"\n"

    def sample(self, asked: Asked) -> Sent:
        return sample(asked)

    def clients(self, origin: str) -> tuple[Sdk, ...]:
        return clients(origin)

    def claims(self, call: Call) -> bool:
        return True

    def api_key(self, call: Call) -> str | None:
        sent = call.headers.get("authorization", "")
        if sent[: len(_BEARER)].lower() != _BEARER:
            return None
        return sent[len(_BEARER) :].strip() or None

    def authorise(self, call: Call) -> None:
        """Nobody is asked for a key."""

    def check(self, call: Call, route: Route) -> None:
        """Nor for anything else."""

    def parse(
        self, call: Call, route: Route, params: Mapping[str, str], body: Node
    ) -> CanonicalRequest:
        return read_request(call, route, body)

    def compute(
        self, route: Route, params: Mapping[str, str], request: CanonicalRequest, facts: Facts
    ) -> bytes:
        return encode_json(_computed(route, request, facts))

    def render(self, request: CanonicalRequest, response: CanonicalResponse) -> bytes:
        return encode_json(whole(request, response))

    def encoder(self, request: CanonicalRequest, response: CanonicalResponse) -> StreamEncoder:
        return LineEncoder(request, response)

    def error(self, error: ErrorAnswer, *, request_id: str) -> bytes:
        return error_body(error)

    def stream_error(self, error: ErrorAnswer, *, sent: int) -> bytes:
        return error_line(error)

    def headers(self, *, request_id: str, created: int, error: ErrorAnswer | None) -> Headers:
        return answer_headers(error)


def _computed(route: Route, request: CanonicalRequest, facts: Facts) -> Mapping[str, object]:
    match route.operation:
        case "embed":
            return ollama_embeddings.embed(request)
        case "embeddings":
            return ollama_embeddings.embedding(request)
        case "show":
            return ollama_models.shown(request.model, facts)
        case "tags":
            return ollama_models.listed(facts)
        case "ps":
            return ollama_models.running(facts)
        case "version":
            return ollama_models.version()
        case _:
            reason = "unload" if unloads(Node(dict(request.extra))) else "load"
            return nothing(request, created=facts.created, reason=reason)


WIRE: Wire = Ollama()
