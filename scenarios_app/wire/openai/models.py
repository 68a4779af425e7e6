"""OpenAI's computed endpoints: models, the (empty) store of completions, and embeddings."""

import base64
import struct
from collections.abc import Iterator
from io import BytesIO

import msgspec

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    CanonicalResponse,
    Choice,
    Json,
    Message,
    Usage,
)
from scenarios_app.engine.parts import OpaquePart, TextPart
from scenarios_app.engine.producing.usage import count_tokens
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
from scenarios_app.wire.openai.chat_answer import render_completion
from scenarios_app.wire.openai.chat_request import ChatFields
from scenarios_app.wire.openai.fields import (
    read_fields,
    read_metadata,
    read_model,
    render_deletion,
    render_list,
    unsupported,
)
from scenarios_app.wire.openai.shared import DEPLOYMENT
from scenarios_app.wire.openai.upstream import PROVIDER

_MODELS, _MODEL = "/v1/models", "/v1/models/{model}"
_STORE = "/v1/chat/completions"
_COMPLETION = _STORE + "/{completion_id}"
_LARGE = "text-embedding-3-large"
_SMALL = frozenset({"text-embedding-3-small", "text-embedding-ada-002"})
_SMALL_DIMENSIONS, _LARGE_DIMENSIONS = 1_536, 3_072
_MAX_INPUTS = 2_048
_MAX_TOKENS = 300_000


def read_resource(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request about the model or completion in its path, if any; a POST has metadata."""
    return make_resource_request(
        call,
        endpoint,
        params.get("completion_id", ""),
        provider=PROVIDER,
        model=params.get("model", ""),
        metadata=read_metadata(body) if call.method == "POST" else None,
    )


def list_models(request: CanonicalRequest, context: ComputeContext) -> bytes:
    models = [_model_json(name, request, context) for name in context.models]
    return encode_json({"object": "list", "data": models})


def _retrieve_model(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return the model in the request's path; raise the 404 if it is unknown."""
    return encode_json(_model_json(request.model, request, context))


def _render_empty_list(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return an empty list, since no completion is stored."""
    return encode_json(render_list([]))


def _retrieve_completion(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return an invented completion with the requested id and metadata, since none is stored."""
    text = "Completions are not stored here; this one was made for its id."
    response = CanonicalResponse(
        id="",
        created=context.created,
        model=next(iter(context.models), "gpt-4o"),
        choices=(Choice((TextPart(text),), "stop"),),
        usage=Usage(input_tokens=1, output_tokens=-(-len(text) // 4)),
        metadata={"id": request.own, "metadata": dict(request.metadata)},
    )
    return encode_json(render_completion(ChatFields(), response))


def _model_json(name: str, request: CanonicalRequest, context: ComputeContext) -> Json:
    """Return a model object; raise the 404 if the model is unknown."""
    if name not in context.models:
        raise WireError(
            404, f"The model '{name}' does not exist.", param="model", code="model_not_found"
        )
    fields: dict[str, Json] = {
        "id": name,
        "object": "model",
        "created": context.created,
        "owned_by": context.models[name],
    }
    if request.provider != PROVIDER:
        # Mistral's client requires these; other clients ignore them.
        chats = "embed" not in name and "moderation" not in name
        fields["type"] = "base"
        fields["capabilities"] = {"completion_chat": chats, "function_calling": chats}
    return fields


# The first matching pattern wins, so the longer one comes first.
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", _MODELS, read_resource, compute=list_models),
    Endpoint("GET", _MODEL, read_resource, compute=_retrieve_model),
    Endpoint(
        "DELETE",
        _MODEL,
        read_resource,
        compute=lambda request, context: render_deletion(request.model, "model"),
    ),
    Endpoint("GET", _STORE, read_resource, compute=_render_empty_list, always_computed=True),
    Endpoint("GET", f"{_COMPLETION}/messages", read_resource, compute=_render_empty_list),
    Endpoint("GET", _COMPLETION, read_resource, compute=_retrieve_completion),
    Endpoint("POST", _COMPLETION, read_resource, compute=_retrieve_completion),
    Endpoint(
        "DELETE",
        _COMPLETION,
        read_resource,
        compute=lambda request, context: render_deletion(request.own, "chat.completion.deleted"),
    ),
)


class OpenAIEmbeddingFields(msgspec.Struct, frozen=True):
    """The inputs to embed (texts or lists of tokens), the dimensions and the encoding."""

    inputs: tuple[str | list[int], ...]
    dimensions: int
    base64: bool


def read_embeddings(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request with a user message for each input; one of tokens has no text. Raises the
    400 for an unknown format."""
    model = read_model(body, params.get(DEPLOYMENT))
    inputs = tuple(_read_inputs(body.need("input")))
    form = body.maybe("encoding_format")
    if form and form.text() not in ("float", "base64"):
        raise unsupported(form, "'float' and 'base64'")
    read_fields(body, {"user": Node.text})
    is_base64 = form is not None and form.value == "base64"
    own = OpenAIEmbeddingFields(inputs, _read_dimensions(body, model), is_base64)
    parts = [TextPart(text) if isinstance(text, str) else OpaquePart("tokens") for text in inputs]
    return make_resource_request(
        call,
        endpoint,
        own,
        provider=PROVIDER,
        model=model,
        messages=tuple(Message("user", (part,)) for part in parts),
    )


def compute_embeddings(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return one embedding per input. OpenAI's response has no id, those of other providers do."""
    own: OpenAIEmbeddingFields = request.own
    tokens = sum(map(_count_tokens, own.inputs))
    named = {} if request.provider == PROVIDER else {"id": f"embd-{context.request_id}"}
    before, _, after = encode_json(
        {
            **named,
            "object": "list",
            "data": [],
            "model": request.model,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
    ).partition(b"[]")
    # The response of 2,048 texts is 15 MB, which grow in place: a list of its parts would take as
    # much again.
    body = BytesIO()
    body.write(before)
    for index, tokens_or_text in enumerate(own.inputs):
        vector = _embedding_json(tokens_or_text, own.dimensions, as_base64=own.base64)
        item = encode_json({"object": "embedding", "index": index, "embedding": vector})
        body.write(b",%b" % item if index else b"[%b" % item)
    body.write(b"]%b" % after)
    return body.getvalue()


def _read_inputs(node: Node) -> Iterator[str | list[int]]:
    """Yield the inputs: one text, several, the tokens of one, or those of several. Raise the 400
    for no input, an empty one, or too much."""
    match node.value:
        case str() | [int(), *_]:
            nodes = [node]
        case list():
            nodes = list(node.items())
        case _:
            raise node.wrong("a string or an array")
    if not 0 < len(nodes) <= _MAX_INPUTS:
        raise _invalid_value(node, f"expected 1 to {_MAX_INPUTS} inputs, but got {len(nodes)}")
    left = _MAX_TOKENS
    for item in nodes:
        if item.value in ("", []):
            raise _invalid_value(item, "an input must not be empty")
        is_list = isinstance(item.value, list)
        value = [token.integer() for token in item.items()] if is_list else item.text()
        left -= _count_tokens(value)
        if left < 0:
            raise _invalid_value(node, f"at most {_MAX_TOKENS} tokens are taken in all")
        yield value


def _read_dimensions(body: Node, model: str) -> int:
    """Return the requested number of dimensions, or the model's default; raise the 400 for a number
    outside the model's range."""
    maximum = _SMALL_DIMENSIONS if model in _SMALL else _LARGE_DIMENSIONS
    node = body.maybe("dimensions")
    if node is None:
        return _LARGE_DIMENSIONS if model == _LARGE else _SMALL_DIMENSIONS
    if 1 <= node.integer() <= maximum:
        return node.integer()
    raise _invalid_value(node, f"expected 1 to {maximum} for this model, but got {node.integer()}")


def _embedding_json(tokens_or_text: str | list[int], dimensions: int, *, as_base64: bool) -> Json:
    """Return a vector in single precision, as floats or as base64."""
    if isinstance(tokens_or_text, list):
        tokens_or_text = " ".join(map(str, tokens_or_text))
    form = struct.Struct(f"<{dimensions}f")
    single = form.pack(*unit_vector(tokens_or_text, dimensions))
    return base64.b64encode(single).decode() if as_base64 else list(form.unpack(single))


def _count_tokens(tokens_or_text: str | list[int]) -> int:
    """Return the number of tokens of a text, or of a list of them."""
    count = len(tokens_or_text)
    return count_tokens(count) if isinstance(tokens_or_text, str) else count


def _invalid_value(node: Node, why: str) -> WireError:
    """Return the 400 for a value that is not allowed."""
    message = f"Invalid '{node.place}': {why}."
    return WireError(400, message, param=node.place, code="invalid_value")


ENDPOINT = Endpoint("POST", "/v1/embeddings", read_embeddings, compute=compute_embeddings)
