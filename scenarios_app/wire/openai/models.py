"""What OpenAI answers without scripted text: embeddings, moderations, the models themselves, and
the store of completions.

Chat completions are not stored, so the store's lists are empty; an id asked for gets an answer that
says so, and changing or deleting it succeeds.
"""

from collections.abc import Mapping

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    CanonicalResponse,
    Choice,
    Json,
    Usage,
)
from scenarios_app.engine.parts import TextPart
from scenarios_app.wire.base import Call, Facts, Route, encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.chat_answer import completion
from scenarios_app.wire.openai.dialect import DEPLOYMENT, PROVIDER
from scenarios_app.wire.openai.embeddings import embeddings, read_embeddings
from scenarios_app.wire.openai.fields import read_metadata
from scenarios_app.wire.openai.moderations import moderations, read_moderations

_STORE = "/v1/chat/completions"

# The first pattern that fits a path has it, so the longer one stands first.
ROUTES: tuple[Route, ...] = (
    Route("POST", "/v1/embeddings", "create_embeddings", "compute"),
    Route("POST", "/v1/moderations", "create_moderation", "compute"),
    Route("GET", "/v1/models", "list_models", "compute"),
    Route("GET", "/v1/models/{model}", "retrieve_model", "compute"),
    Route("DELETE", "/v1/models/{model}", "delete_model", "compute"),
    Route("GET", _STORE, "list_completions", "compute", fixed=True),
    Route("GET", _STORE + "/{completion_id}/messages", "list_stored_messages", "compute"),
    Route("GET", _STORE + "/{completion_id}", "retrieve_completion", "compute"),
    Route("POST", _STORE + "/{completion_id}", "update_completion", "compute"),
    Route("DELETE", _STORE + "/{completion_id}", "delete_completion", "compute"),
)


def read_extra(call: Call, route: Route, params: Mapping[str, str], body: Node) -> CanonicalRequest:
    """A request for one of `ROUTES`; most have metadata at the most."""
    match route.operation:
        case "create_embeddings":
            return read_embeddings(call, route, body, deployment=params.get(DEPLOYMENT))
        case "create_moderation":
            return read_moderations(call, route, body)
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=route.canonical,
        model=params.get("model", ""),
        headers=call.headers,
        metadata=read_metadata(body) if call.method == "POST" else {},
    )


def compute(
    route: Route, params: Mapping[str, str], request: CanonicalRequest, facts: Facts
) -> bytes:
    """The answer of one of `ROUTES`."""
    match route.operation:
        case "create_embeddings":
            answer: object = embeddings(request, facts)
        case "create_moderation":
            answer = moderations(request, facts)
        case "list_models":
            models: list[Json] = [_model(name, facts) for name in facts.models]
            answer = {"object": "list", "data": models}
        case "retrieve_model":
            answer = _model(params["model"], facts)
        case "delete_model":
            answer = {"id": params["model"], "object": "model", "deleted": True}
        case "retrieve_completion" | "update_completion":
            answer = _stored(params["completion_id"], request, facts)
        case "delete_completion":
            answer = {
                "id": params["completion_id"],
                "object": "chat.completion.deleted",
                "deleted": True,
            }
        case _:
            answer = {
                "object": "list",
                "data": [],
                "first_id": None,
                "last_id": None,
                "has_more": False,
            }
    return encode_json(answer)


def _model(name: str, facts: Facts) -> Json:
    if name not in facts.models:
        raise WireError(
            404, f"The model '{name}' does not exist.", param="model", code="model_not_found"
        )
    chats = "embed" not in name and "moderation" not in name
    return {
        "id": name,
        "object": "model",
        "created": facts.created,
        "owned_by": facts.models[name],
        # Mistral's client reads the same list, and wants these.
        "type": "base",
        "capabilities": {"completion_chat": chats, "function_calling": chats},
    }


def _stored(completion_id: str, request: CanonicalRequest, facts: Facts) -> Json:
    text = "Completions are not stored here; this one was made for its id."
    response = CanonicalResponse(
        id="",
        created=facts.created,
        model=next(iter(facts.models), "gpt-4o"),
        choices=(Choice((TextPart(text),), "stop"),),
        usage=Usage(input_tokens=1, output_tokens=-(-len(text) // 4)),
        metadata={"id": completion_id, "metadata": dict(request.metadata)},
    )
    return completion(request, response)
