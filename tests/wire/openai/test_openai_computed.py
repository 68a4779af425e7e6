"""Computed responses of OpenAI's wire: models and stored completions."""

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


def compute_json(
    method: str, path: str, body: Any = None, *, context: ComputeContext = CONTEXT
) -> Any:
    call = make_call(method, path)
    target = find_target(call)
    assert target is not None
    assert target.endpoint is not None
    assert target.endpoint.compute is not None
    request = target.endpoint.read(call, target.endpoint, target.params, Node(body or {}))
    return json.loads(target.endpoint.compute(request, context))


def test_list_of_completions_is_always_computed() -> None:
    paths = {route.pattern for route in WIRE.endpoints if route.generates}
    computed = [route for route in WIRE.endpoints if not route.generates]
    fixed = [(route.method, route.canonical) for route in computed if route.always_computed]
    assert set(fixed) == {("GET", "/v1/chat/completions")}
    assert all(route.always_computed is (route.pattern in paths) for route in computed)


def test_models_are_listed_with_their_owners() -> None:
    page = compute_json("GET", "/v1/models")
    validate_type(type_=SyncPage[Model], value=page)
    assert page["object"] == "list"
    keys = ("id", "object", "created", "owned_by")
    assert [{name: model[name] for name in keys} for model in page["data"]] == [
        {"id": "gpt-4o", "object": "model", "created": 1735689600, "owned_by": "openai"},
        {"id": "meta/llama 3", "object": "model", "created": 1735689600, "owned_by": "meta"},
    ]


@pytest.mark.parametrize(
    ("name", "is_chat_model"),
    [("gpt-4o", True), ("text-embedding-3-small", False), ("omni-moderation-latest", False)],
)
def test_model_has_capabilities_in_mistrals_dialect(name: str, is_chat_model: bool) -> None:
    context = ComputeContext({name: "openai"}, 1735689600, "r")
    assert "type" not in compute_json("GET", f"/v1/models/{name}", context=context)
    model = compute_json("GET", f"/mistral/v1/models/{name}", context=context)
    assert model["type"] == "base"
    assert model["capabilities"] == {
        "completion_chat": is_chat_model,
        "function_calling": is_chat_model,
    }


@pytest.mark.parametrize("path", ["meta/llama%203", "meta%2Fllama%203"])
def test_a_model_is_found_by_an_id_with_slashes(path: str) -> None:
    model = compute_json("GET", f"/v1/models/{path}")
    validate_type(type_=Model, value=model)
    assert model["id"] == "meta/llama 3"


def test_an_unknown_model_is_a_404() -> None:
    with pytest.raises(WireError) as raised:
        compute_json("GET", "/v1/models/gpt-%C3%BC")
    error = raised.value.answer
    assert (error.status, error.code, error.param) == (404, "model_not_found", "model")
    assert error.message == "The model 'gpt-ü' does not exist."


def test_any_model_can_be_deleted() -> None:
    answer = compute_json("DELETE", "/v1/models/ft:gpt-4o-mini:acemeco:suffix:abc123")
    validate_type(type_=ModelDeleted, value=answer)
    assert answer["id"] == "ft:gpt-4o-mini:acemeco:suffix:abc123"
    assert answer["deleted"] is True


def test_list_of_completions_is_empty() -> None:
    page = compute_json("GET", STORE)
    validate_type(type_=SyncCursorPage[ChatCompletion], value=page)
    assert page == EMPTY


def test_unstored_completion_has_no_messages() -> None:
    page = compute_json("GET", f"{STORE}/chatcmpl-1/messages")
    validate_type(type_=SyncCursorPage[ChatCompletionStoreMessage], value=page)
    assert page == EMPTY


def test_retrieved_completion_has_a_text_that_it_is_not_stored() -> None:
    completion = compute_json("GET", f"{STORE}/chatcmpl-1")
    validate_type(type_=ChatCompletion, value=completion)
    assert (completion["id"], completion["model"], completion["metadata"]) == (
        "chatcmpl-1",
        "gpt-4o",
        {},
    )
    assert "not stored" in completion["choices"][0]["message"]["content"]
    assert completion["usage"]["total_tokens"] > 0


@pytest.mark.parametrize("metadata", [{"foo": "bar"}, {}])
def test_update_returns_the_metadata(metadata: dict[str, str]) -> None:
    completion = compute_json("POST", f"{STORE}/chatcmpl-1", {"metadata": metadata})
    validate_type(type_=ChatCompletion, value=completion)
    assert (completion["id"], completion["metadata"]) == ("chatcmpl-1", metadata)


def test_update_with_invalid_metadata_is_rejected() -> None:
    with pytest.raises(WireError) as raised:
        compute_json("POST", f"{STORE}/chatcmpl-1", {"metadata": {"foo": 1}})
    assert raised.value.answer.param == "metadata.foo"


def test_any_completion_can_be_deleted() -> None:
    answer = compute_json("DELETE", f"{STORE}/chatcmpl-1")
    validate_type(type_=ChatCompletionDeleted, value=answer)
    assert answer == {"id": "chatcmpl-1", "object": "chat.completion.deleted", "deleted": True}


def test_model_request_has_the_name_of_its_model() -> None:
    call = make_call("GET", "/v1/models/gpt-4o")
    target = find_target(call)
    assert target is not None
    assert target.endpoint is not None
    request = target.endpoint.read(call, target.endpoint, target.params, Node({}))
    assert (request.model, request.route) == ("gpt-4o", "/v1/models/{model}")
