"""Gemini's computed endpoints: token counts, embeddings and the models list."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest, Message
from scenarios_app.engine.parts import TextPart
from scenarios_app.engine.producing.usage import CHARACTERS_PER_TOKEN, count_input
from scenarios_app.wire.base import (
    Call,
    ComputeContext,
    Endpoint,
    Params,
    encode_json,
    make_resource_request,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.embedding import unit_vector
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini.contents import read_text
from scenarios_app.wire.gemini.fields import (
    integer_field,
    list_field,
    require_field,
    to_snake_case,
)
from scenarios_app.wire.gemini.request import model_of
from scenarios_app.wire.gemini.upstream import PROVIDER

_DEFAULT_SIZE = 50
_MAX_SIZE = 1000
_DIMENSIONS: Mapping[str, int] = {"text-embedding-004": 768, "embedding-001": 768}
_MAX_DIMENSIONS = 3072
_GENERATION_METHODS = ("generateContent", "countTokens")
_EMBEDDING_METHODS = ("embedContent", "countTokens")


def model_info(model: str) -> dict[str, Any]:
    """Return a model with every capability of its kind."""
    embeds = "embedding" in model
    info: dict[str, Any] = {
        "name": model if "/" in model else f"models/{model}",
        "version": "001",
        "displayName": model,
        "description": "A model of the mock server.",
        "inputTokenLimit": 2048 if embeds else 1_048_576,
        "outputTokenLimit": 1 if embeds else 65_536,
        "supportedGenerationMethods": list(_EMBEDDING_METHODS if embeds else _GENERATION_METHODS),
    }
    if not embeds:
        info |= {"temperature": 1, "topP": 0.95, "topK": 64, "maxTemperature": 2, "thinking": True}
    return info


class TokenPage(msgspec.Struct, frozen=True):
    """The requested part of the models list: its size, and the token of its start."""

    size: int
    token: str


def read_page(call: Call) -> TokenPage:
    """Return the page that a call's query asks for; raise the 400 for an invalid size."""
    page_size = _query_value(call, "pageSize") or "0"
    if not (page_size.isascii() and page_size.isdigit()):
        raise WireError(
            400, f"pageSize: expected a whole number, but got {page_size}", param="pageSize"
        )
    size = min(int(page_size[:9]) or _DEFAULT_SIZE, _MAX_SIZE)
    return TokenPage(size, _query_value(call, "pageToken"))


def models_page(models: list[str], wanted: TokenPage) -> dict[str, Any]:
    """Return one page, with the token of any next page; raise the 400 for an invalid token."""
    start = _decode_page_token(wanted.token) if wanted.token else 0
    end = start + wanted.size
    page: dict[str, Any] = {"models": [model_info(model) for model in models[start:end]]}
    if end < len(models):
        page["nextPageToken"] = urlsafe_b64encode(str(end).encode()).decode()
    return page


def _decode_page_token(token: str) -> int:
    """Return the number of models before a page; raise the 400 for an invalid token."""
    try:
        start = urlsafe_b64decode(token.encode())
    except ValueError:
        start = b""
    if not start.isdigit():
        raise WireError(400, "Page token is invalid.", param="pageToken")
    return int(start[:9])


def _query_value(call: Call, name: str) -> str:
    """Return the query's value for a camelCase name in either spelling, or an empty text."""
    return call.query.get(name) or call.query.get(to_snake_case(name)) or ""


_MAX_EMBEDDED_TEXTS = 100
# The models ignore a text beyond 2,048 tokens.
_MAX_EMBEDDED_CHARS = 2_048 * CHARACTERS_PER_TOKEN


def read_model(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request about one model, or about a page of the list."""
    model = model_of(endpoint, params)
    own = None if model else read_page(call)
    return make_resource_request(call, endpoint, own, provider=PROVIDER, model=model)


def read_embedding(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request to embed one text."""
    return _embedding_request(call, endpoint, model_of(endpoint, params), (body,))


def read_embeddings(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request to embed several texts."""
    requests = tuple(list_field(body, "requests"))
    return _embedding_request(call, endpoint, model_of(endpoint, params), requests)


def count_tokens(request: CanonicalRequest, context: ComputeContext) -> bytes:
    return encode_json({"totalTokens": count_input(request)})


def compute_embedding(request: CanonicalRequest, context: ComputeContext) -> bytes:
    return encode_json({"embedding": _make_vectors(request)[0]})


def compute_embeddings(request: CanonicalRequest, context: ComputeContext) -> bytes:
    return encode_json({"embeddings": _make_vectors(request)})


def list_models(request: CanonicalRequest, context: ComputeContext) -> bytes:
    return encode_json(models_page(list(context.models), request.own))


def get_model(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return the requested model; raise the 404 if it is not listed."""
    if request.model in context.models:
        return encode_json(model_info(request.model))
    version = request.path.split("/")[1]
    raise WireError(
        404,
        f"Model is not found: models/{request.model} for api version {version}. "
        "Call ModelService.ListModels to see the list of available models.",
    )


def _embedding_request(
    call: Call, endpoint: Endpoint, model: str, requests: tuple[Node, ...]
) -> CanonicalRequest:
    """Return a request with a message for each text; `own` are the dimensions of the vectors. Raise
    the 400 for none or too many."""
    if not 1 <= len(requests) <= _MAX_EMBEDDED_TEXTS:
        message = f"requests: expected 1 to {_MAX_EMBEDDED_TEXTS} of them, but got {len(requests)}."
        raise WireError(400, message, param="requests")
    texts = [read_text(require_field(request, "content")) for request in requests]
    dimensions = tuple(_read_dimensions(request, model) for request in requests)
    messages = tuple(Message("user", (TextPart(text),)) for text in texts)
    return make_resource_request(
        call, endpoint, dimensions, provider=PROVIDER, model=model, messages=messages
    )


def _read_dimensions(request: Node, model: str) -> int:
    """Return the length of a vector, by default the model's longest; raise the 400 if out of
    range."""
    maximum = _DIMENSIONS.get(model, _MAX_DIMENSIONS)
    wanted = integer_field(request, "outputDimensionality")
    if wanted is None:
        return maximum
    if 1 <= wanted <= maximum:
        return wanted
    place = request.get("outputDimensionality").place
    message = f"{place}: {model} has 1 to {maximum} dimensions, but {wanted} were asked for."
    raise WireError(400, message, param=place)


def _make_vectors(request: CanonicalRequest) -> list[dict[str, Any]]:
    """Return an embedding for each message, of the wanted number of dimensions, in order."""
    dimensions: tuple[int, ...] = request.own
    return [
        {"values": unit_vector(message.text[:_MAX_EMBEDDED_CHARS], size)}
        for message, size in zip(request.messages, dimensions, strict=True)
    ]
