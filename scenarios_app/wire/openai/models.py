"""OpenAI's models, listed and one by one, and its store of completions.

Chat completions are not stored, so the store's lists are empty; an id asked for gets an answer that
says so, and changing or deleting it succeeds.
"""

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    CanonicalResponse,
    Choice,
    Json,
    Usage,
)
from scenarios_app.engine.parts import TextPart
from scenarios_app.wire.base import Call, Endpoint, Facts, Params, about, encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.chat_answer import completion
from scenarios_app.wire.openai.chat_request import ChatFields
from scenarios_app.wire.openai.fields import read_metadata
from scenarios_app.wire.openai.shared import PROVIDER

_MODELS, _MODEL = "/v1/models", "/v1/models/{model}"
_STORE = "/v1/chat/completions"
_COMPLETION = _STORE + "/{completion_id}"


def read_named(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """A request about what its path names; it has metadata at the most."""
    return about(
        call,
        endpoint,
        params.get("completion_id", ""),
        provider=PROVIDER,
        model=params.get("model", ""),
        metadata=read_metadata(body) if call.method == "POST" else None,
    )


def list_models(request: CanonicalRequest, facts: Facts) -> bytes:
    models = [_model(name, request, facts) for name in facts.models]
    return encode_json({"object": "list", "data": models})


def _retrieve_model(request: CanonicalRequest, facts: Facts) -> bytes:
    return encode_json(_model(request.model, request, facts))


def _delete_model(request: CanonicalRequest, facts: Facts) -> bytes:
    return encode_json({"id": request.model, "object": "model", "deleted": True})


def _list_nothing(request: CanonicalRequest, facts: Facts) -> bytes:
    return encode_json(
        {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}
    )


def _retrieve_completion(request: CanonicalRequest, facts: Facts) -> bytes:
    text = "Completions are not stored here; this one was made for its id."
    response = CanonicalResponse(
        id="",
        created=facts.created,
        model=next(iter(facts.models), "gpt-4o"),
        choices=(Choice((TextPart(text),), "stop"),),
        usage=Usage(input_tokens=1, output_tokens=-(-len(text) // 4)),
        metadata={"id": request.own, "metadata": dict(request.metadata)},
    )
    return encode_json(completion(ChatFields(), response))


def _delete_completion(request: CanonicalRequest, facts: Facts) -> bytes:
    return encode_json({"id": request.own, "object": "chat.completion.deleted", "deleted": True})


def _model(name: str, request: CanonicalRequest, facts: Facts) -> Json:
    if name not in facts.models:
        raise WireError(
            404, f"The model '{name}' does not exist.", param="model", code="model_not_found"
        )
    fields: dict[str, Json] = {
        "id": name,
        "object": "model",
        "created": facts.created,
        "owned_by": facts.models[name],
    }
    if request.provider != PROVIDER:
        # Mistral's client wants these, and others pass them over.
        chats = "embed" not in name and "moderation" not in name
        fields["type"] = "base"
        fields["capabilities"] = {"completion_chat": chats, "function_calling": chats}
    return fields


# The first pattern that fits a path has it, so the longer one stands first.
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", _MODELS, read_named, compute=list_models),
    Endpoint("GET", _MODEL, read_named, compute=_retrieve_model),
    Endpoint("DELETE", _MODEL, read_named, compute=_delete_model),
    Endpoint("GET", _STORE, read_named, compute=_list_nothing, fixed=True),
    Endpoint("GET", f"{_COMPLETION}/messages", read_named, compute=_list_nothing),
    Endpoint("GET", _COMPLETION, read_named, compute=_retrieve_completion),
    Endpoint("POST", _COMPLETION, read_named, compute=_retrieve_completion),
    Endpoint("DELETE", _COMPLETION, read_named, compute=_delete_completion),
)
