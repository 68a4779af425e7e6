"""OpenAI's embeddings: unit vectors made of the texts alone, as floats or as base64."""

import base64
import struct
from collections.abc import Iterator, Mapping

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest, Json, Message
from scenarios_app.engine.parts import OpaquePart, TextPart
from scenarios_app.engine.producing.usage import count_tokens
from scenarios_app.wire.base import Call, Endpoint, Facts, Params, encode_json, encoded
from scenarios_app.wire.body import Node
from scenarios_app.wire.embedding import unit_vector
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.fields import model_of, read_given, unsupported
from scenarios_app.wire.openai.shared import DEPLOYMENT, PROVIDER

_LARGE = "text-embedding-3-large"
_DIMENSIONS = 1_536
_MOST_DIMENSIONS: Mapping[str, int] = {
    "text-embedding-3-small": 1_536,
    "text-embedding-ada-002": 1_536,
}
_LARGEST = 3_072
_MOST_INPUTS = 2_048
_MOST_TOKENS = 300_000
_FORMATS = "'float' and 'base64'"


class EmbeddingFields(msgspec.Struct, frozen=True):
    """What is to be embedded, texts or lists of tokens, in how many dimensions and which form."""

    inputs: tuple[Json, ...]
    dimensions: int
    base64: bool


def read_embeddings(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """A request for embeddings. Each input is a user message; one of tokens has no text."""
    model = model_of(body, params.get(DEPLOYMENT))
    inputs = tuple(_inputs(body.need("input")))
    form = body.maybe("encoding_format")
    if form and form.text() not in ("float", "base64"):
        raise unsupported(form, _FORMATS)
    read_given(body, {"user": Node.text})
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=endpoint.canonical,
        model=model,
        messages=tuple(
            Message("user", (TextPart(text) if isinstance(text, str) else OpaquePart("tokens"),))
            for text in inputs
        ),
        headers=call.headers,
        own=EmbeddingFields(
            inputs,
            _dimensions(body, model),
            base64=form is not None and form.value == "base64",
        ),
    )


def embeddings(request: CanonicalRequest, facts: Facts) -> bytes:
    """The answer, with one embedding per input. OpenAI's has no id, those of others do."""
    own: EmbeddingFields = request.own
    data: list[object] = []
    for index, given in enumerate(own.inputs):
        vector = encoded(_embedding(given, own.dimensions, packed=own.base64))
        data.append({"object": "embedding", "index": index, "embedding": vector})
    tokens = sum(map(_tokens, own.inputs))
    named = {} if request.provider == PROVIDER else {"id": f"embd-{facts.request_id}"}
    return encode_json(
        {
            **named,
            "object": "list",
            "data": data,
            "model": request.model,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
    )


def _inputs(node: Node) -> Iterator[Json]:
    """One text, several, the tokens of one, or those of several."""
    match node.value:
        case str() | [int(), *_]:
            nodes = [node]
        case list():
            nodes = list(node.items())
        case _:
            raise node.wrong("a string or an array")
    if not 0 < len(nodes) <= _MOST_INPUTS:
        raise _bad(node, f"expected 1 to {_MOST_INPUTS} inputs, but got {len(nodes)}")
    left = _MOST_TOKENS
    for item in nodes:
        if item.value in ("", []):
            raise _bad(item, "an input must not be empty")
        if isinstance(item.value, list):
            for token in item.items():
                token.integer()
        else:
            item.text()
        left -= _tokens(item.value)
        if left < 0:
            raise _bad(node, f"at most {_MOST_TOKENS} tokens are taken in all")
        yield item.value


def _dimensions(body: Node, model: str) -> int:
    most = _MOST_DIMENSIONS.get(model, _LARGEST)
    node = body.maybe("dimensions")
    if node is None:
        return _LARGEST if model == _LARGE else _DIMENSIONS
    if 1 <= node.integer() <= most:
        return node.integer()
    raise _bad(node, f"expected 1 to {most} for this model, but got {node.integer()}")


def _embedding(given: Json, dimensions: int, *, packed: bool) -> Json:
    """A vector in the single precision that the API has, in either form the same."""
    text = " ".join(map(str, given)) if isinstance(given, list) else str(given)
    form = struct.Struct(f"<{dimensions}f")
    single = form.pack(*unit_vector(text, dimensions))
    return base64.b64encode(single).decode() if packed else list(form.unpack(single))


def _tokens(given: Json) -> int:
    return len(given) if isinstance(given, list) else count_tokens(len(str(given)))


def _bad(node: Node, why: str) -> WireError:
    message = f"Invalid '{node.place}': {why}."
    return WireError(400, message, param=node.place, code="invalid_value")


ENDPOINT = Endpoint("POST", "/v1/embeddings", read_embeddings, compute=embeddings)
