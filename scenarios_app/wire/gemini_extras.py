"""What Gemini computes without a model: token counts, embeddings, and the models themselves."""

from collections.abc import Mapping
from typing import Any

from scenarios_app.engine.canonical import CanonicalRequest, Json, Message
from scenarios_app.engine.embedding import unit_vector
from scenarios_app.engine.parts import TextPart
from scenarios_app.engine.usage import CHARACTERS_PER_TOKEN, count_input
from scenarios_app.wire.base import Call, Facts, Route, encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini_contents import read_text
from scenarios_app.wire.gemini_fields import integer_of, listed, need
from scenarios_app.wire.gemini_models import dimensions_of, model_info, models_page, read_page
from scenarios_app.wire.gemini_request import PROVIDER, model_of

_MOST_EMBEDDED = 100
# The models read 2,048 tokens of a text and leave the rest.
_READ_CHARACTERS = 2_048 * CHARACTERS_PER_TOKEN


def read_plain(call: Call, route: Route, params: Mapping[str, str], body: Node) -> CanonicalRequest:
    """A request about models, or for embeddings: each text is a message."""
    model = model_of(route, params)
    texts: tuple[str, ...] = ()
    extra: Mapping[str, Json] = {}
    match route.operation:
        case "list_models":
            extra = read_page(call)
        case "embed":
            texts, extra = _embedded((body,), model)
        case "batch_embed":
            texts, extra = _embedded(tuple(listed(body, "requests")), model)
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=route.canonical,
        model=model,
        messages=tuple(Message("user", (TextPart(text),)) for text in texts),
        headers=call.headers,
        extra=extra,
    )


def compute(route: Route, request: CanonicalRequest, facts: Facts) -> bytes:
    """The answer of a computed route."""
    match route.operation:
        case "count_tokens":
            return encode_json({"totalTokens": count_input(request)})
        case "embed":
            return encode_json({"embedding": _embeddings(request)[0]})
        case "batch_embed":
            return encode_json({"embeddings": _embeddings(request)})
        case "list_models":
            return encode_json(models_page(list(facts.models), request.extra))
        case _:
            return encode_json(_model(request, facts))


def _embedded(requests: tuple[Node, ...], model: str) -> tuple[tuple[str, ...], Mapping[str, Json]]:
    """The texts to embed, and into how many dimensions each."""
    if not 1 <= len(requests) <= _MOST_EMBEDDED:
        message = f"requests: expected 1 to {_MOST_EMBEDDED} of them, but got {len(requests)}."
        raise WireError(400, message, param="requests")
    texts = tuple(read_text(need(request, "content")) for request in requests)
    dimensions: list[Json] = [_dimensions(request, model) for request in requests]
    return texts, {"dimensions": dimensions}


def _dimensions(request: Node, model: str) -> int:
    most = dimensions_of(model)
    wanted = integer_of(request, "outputDimensionality")
    if wanted is None:
        return most
    if 1 <= wanted <= most:
        return wanted
    place = request.get("outputDimensionality").place
    message = f"{place}: {model} has 1 to {most} dimensions, but {wanted} were asked for."
    raise WireError(400, message, param=place)


def _embeddings(request: CanonicalRequest) -> list[dict[str, Any]]:
    asked = Node(dict(request.extra)).get("dimensions").items()
    return [
        {"values": unit_vector(message.text[:_READ_CHARACTERS], dimensions.integer())}
        for message, dimensions in zip(request.messages, asked, strict=True)
    ]


def _model(request: CanonicalRequest, facts: Facts) -> dict[str, Any]:
    if request.model in facts.models:
        return model_info(request.model)
    version = request.path.split("/")[1]
    raise WireError(
        404,
        f"Model is not found: models/{request.model} for api version {version}. "
        "Call ModelService.ListModels to see the list of available models.",
    )
