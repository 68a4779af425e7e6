"""Models and the completion store: what OpenAI answers without a model."""

import json
from typing import Any

import pytest
from openai._models import validate_type
from openai.pagination import SyncCursorPage, SyncPage
from openai.types import Model, ModelDeleted
from openai.types.chat import ChatCompletion, ChatCompletionDeleted, ChatCompletionStoreMessage

from scenarios_app.wire.base import ComputeContext
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.wire import WIRE
from scenarios_app.wire.registry import find_target
from tests.wire.openai.openai_cases import make_call

CONTEXT = ComputeContext(
    models={"gpt-4o": "openai", "meta/llama 3": "meta"}, created=1735689600, request_id="abc"
)
STORE = "/v1/chat/completions"
EMPTY: dict[str, Any] = {
    "object": "list",
    "data": [],
    "first_id": None,
    "last_id": None,
    "has_more": False,
}


def ask(method: str, path: str, body: Any = None, *, context: ComputeContext = CONTEXT) -> Any:
    call = make_call(method, path)
    target = find_target(call)
    assert target is not None
    assert target.endpoint is not None
    assert target.endpoint.compute is not None
    request = target.endpoint.read(call, target.endpoint, target.params, Node(body or {}))
    return json.loads(target.endpoint.compute(request, context))


def test_a_step_that_names_the_chat_path_is_not_spent_on_the_stores_list() -> None:
    paths = {route.pattern for route in WIRE.endpoints if route.generates}
    computed = [route for route in WIRE.endpoints if not route.generates]
    fixed = [(route.method, route.canonical) for route in computed if route.always_computed]
    assert set(fixed) == {("GET", "/v1/chat/completions")}
    assert all(route.always_computed is (route.pattern in paths) for route in computed)


def test_models_are_listed_with_their_owners() -> None:
    page = ask("GET", "/v1/models")
    validate_type(type_=SyncPage[Model], value=page)
    assert page["object"] == "list"
    own = ("id", "object", "created", "owned_by")
    assert [{name: model[name] for name in own} for model in page["data"]] == [
        {"id": "gpt-4o", "object": "model", "created": 1735689600, "owned_by": "openai"},
        {"id": "meta/llama 3", "object": "model", "created": 1735689600, "owned_by": "meta"},
    ]


@pytest.mark.parametrize(
    ("name", "chats"),
    [("gpt-4o", True), ("text-embedding-3-small", False), ("omni-moderation-latest", False)],
)
def test_a_model_says_what_mistrals_client_wants_to_know(name: str, chats: bool) -> None:
    context = ComputeContext({name: "openai"}, 1735689600, "r")
    assert "type" not in ask("GET", f"/v1/models/{name}", context=context)
    model = ask("GET", f"/mistral/v1/models/{name}", context=context)
    assert model["type"] == "base"
    assert model["capabilities"] == {"completion_chat": chats, "function_calling": chats}


@pytest.mark.parametrize("path", ["meta/llama%203", "meta%2Fllama%203"])
def test_a_model_is_found_by_an_id_with_slashes(path: str) -> None:
    model = ask("GET", f"/v1/models/{path}")
    validate_type(type_=Model, value=model)
    assert model["id"] == "meta/llama 3"


def test_an_unknown_model_is_a_404() -> None:
    with pytest.raises(WireError) as refused:
        ask("GET", "/v1/models/gpt-%C3%BC")
    error = refused.value.answer
    assert (error.status, error.code, error.param) == (404, "model_not_found", "model")
    assert error.message == "The model 'gpt-ü' does not exist."


def test_any_model_can_be_deleted() -> None:
    answer = ask("DELETE", "/v1/models/ft:gpt-4o-mini:acemeco:suffix:abc123")
    validate_type(type_=ModelDeleted, value=answer)
    assert answer["id"] == "ft:gpt-4o-mini:acemeco:suffix:abc123"
    assert answer["deleted"] is True


def test_nothing_is_stored() -> None:
    page = ask("GET", STORE)
    validate_type(type_=SyncCursorPage[ChatCompletion], value=page)
    assert page == EMPTY


def test_a_completion_that_was_never_stored_has_no_messages() -> None:
    page = ask("GET", f"{STORE}/chatcmpl-1/messages")
    validate_type(type_=SyncCursorPage[ChatCompletionStoreMessage], value=page)
    assert page == EMPTY


def test_a_completion_asked_for_by_id_says_that_it_was_not_stored() -> None:
    whole = ask("GET", f"{STORE}/chatcmpl-1")
    validate_type(type_=ChatCompletion, value=whole)
    assert (whole["id"], whole["model"], whole["metadata"]) == ("chatcmpl-1", "gpt-4o", {})
    assert "not stored" in whole["choices"][0]["message"]["content"]
    assert whole["usage"]["total_tokens"] > 0


@pytest.mark.parametrize("metadata", [{"foo": "bar"}, {}])
def test_an_update_gives_back_the_metadata(metadata: dict[str, str]) -> None:
    whole = ask("POST", f"{STORE}/chatcmpl-1", {"metadata": metadata})
    validate_type(type_=ChatCompletion, value=whole)
    assert (whole["id"], whole["metadata"]) == ("chatcmpl-1", metadata)


def test_an_update_with_metadata_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(WireError) as refused:
        ask("POST", f"{STORE}/chatcmpl-1", {"metadata": {"foo": 1}})
    assert refused.value.answer.param == "metadata.foo"


def test_any_completion_can_be_deleted() -> None:
    answer = ask("DELETE", f"{STORE}/chatcmpl-1")
    validate_type(type_=ChatCompletionDeleted, value=answer)
    assert answer == {"id": "chatcmpl-1", "object": "chat.completion.deleted", "deleted": True}


def test_a_request_about_a_model_names_it() -> None:
    call = make_call("GET", "/v1/models/gpt-4o")
    target = find_target(call)
    assert target is not None
    assert target.endpoint is not None
    request = target.endpoint.read(call, target.endpoint, target.params, Node({}))
    assert (request.model, request.route) == ("gpt-4o", "/v1/models/{model}")
