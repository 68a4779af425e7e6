"""The forms that OpenAI's paths have on Azure, and its key."""

import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai import wire as openai_chat
from scenarios_app.wire.openai.responses import wire as openai_responses
from scenarios_app.wire.registry import Target, find_target, is_provider_path
from tests.wire.openai.openai_cases import make_call

DEPLOYMENT = "/openai/deployments/my-gpt"


def target(method: str, path: str) -> Target:
    found = find_target(make_call(method, path))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("method", "path", "canonical"),
    [
        ("POST", f"{DEPLOYMENT}/chat/completions", "/v1/chat/completions"),
        ("POST", f"{DEPLOYMENT}/completions", "/v1/completions"),
        ("POST", f"{DEPLOYMENT}/embeddings", "/v1/embeddings"),
        ("POST", "/openai/v1/chat/completions", "/v1/chat/completions"),
        ("POST", "/openai/v1/completions", "/v1/completions"),
        ("POST", "/openai/v1/embeddings", "/v1/embeddings"),
        ("POST", "/openai/v1/moderations", "/v1/moderations"),
        ("POST", "/openai/v1/responses", "/v1/responses"),
        ("POST", "/openai/responses", "/v1/responses"),
        ("GET", "/openai/v1/responses/resp_1", "/v1/responses/{response_id}"),
        ("GET", "/openai/responses/resp_1", "/v1/responses/{response_id}"),
        ("GET", "/openai/v1/models", "/v1/models"),
        ("GET", "/openai/models", "/v1/models"),
        ("GET", "/openai/v1/models/my/own", "/v1/models/{model}"),
        ("GET", "/openai/v1/chat/completions/c", "/v1/chat/completions/{completion_id}"),
    ],
)
def test_a_route_has_its_forms_on_azure(method: str, path: str, canonical: str) -> None:
    found = target(method, path)
    assert found.endpoint is not None
    assert found.endpoint.canonical == canonical
    wire = openai_responses.WIRE if "responses" in path else openai_chat.WIRE
    (own,) = [e for e in wire.endpoints if (e.method, e.pattern) == (method, canonical)]
    readers = {"read": found.endpoint.read, "typed": found.endpoint.typed}
    pattern = found.endpoint.pattern
    assert found.endpoint == replace(own, **readers, pattern=pattern, alias_of=canonical)
    azure = openai_chat.WIRES_BY_DIALECT["azure"]
    assert found.wire is (openai_responses.WIRE if "responses" in path else azure)


@pytest.mark.parametrize(
    "path",
    [
        "/openai",
        "/openai/",
        "/openai/v1",
        DEPLOYMENT,
        f"{DEPLOYMENT}/responses",
        f"{DEPLOYMENT}/models",
        f"{DEPLOYMENT}/chat/completions/",
        "/openai/deployments/a/b/chat/completions",
    ],
)
def test_unknown_azure_path_is_a_404_in_the_envelope(path: str) -> None:
    assert is_provider_path(path)
    found = target("POST", path)
    assert found.wire.provider == "openai"
    assert found.error is not None
    assert (found.error.answer.status, found.error.answer.code) == (404, "unknown_url")


def test_a_wrong_method_gets_the_envelope() -> None:
    error = target("GET", f"{DEPLOYMENT}/chat/completions").error
    assert error is not None
    assert (error.answer.status, error.answer.headers) == (405, (("allow", "POST"),))


def test_the_path_as_it_came_and_its_canonical_form_are_both_known() -> None:
    path = f"{DEPLOYMENT}/chat/completions"
    found = target("POST", path)
    assert found.endpoint is not None
    body: Json = {"messages": [{"role": "user", "content": "x"}]}
    request = found.endpoint.read(make_call("POST", path), found.endpoint, found.params, Node(body))
    assert (request.path, request.route) == (path, "/v1/chat/completions")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("chat/completions", {"messages": [{"role": "user", "content": "x"}]}),
        ("completions", {"prompt": "x"}),
        ("embeddings", {"input": "x"}),
    ],
)
@pytest.mark.parametrize(("model", "expected"), [(None, "my-gpt"), ("gpt-4o", "gpt-4o")])
def test_the_deployment_is_the_model_unless_the_body_names_one(
    path: str, body: dict[str, Json], model: str | None, expected: str
) -> None:
    found = target("POST", f"{DEPLOYMENT}/{path}")
    assert found.endpoint is not None
    given: Json = {**body, "model": model}
    call = make_call("POST", f"{DEPLOYMENT}/{path}")
    assert found.endpoint.read(call, found.endpoint, found.params, Node(given)).model == expected


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({"api-key": " k "}, "k"),
        ({"authorization": "Bearer t"}, "t"),
        ({"api-key": "k", "authorization": "Bearer t"}, "k"),
        ({"api-key": " ", "authorization": "Bearer t"}, "t"),
        ({}, None),
    ],
)
def test_azures_key_is_a_header_of_its_own(headers: dict[str, str], key: str | None) -> None:
    call = make_call(path=f"{DEPLOYMENT}/chat/completions", headers=headers)
    wire = openai_chat.WIRE
    assert wire.api_key(call) == key
    if key is None:
        with pytest.raises(WireError) as refused:
            wire.authorise(call)
        assert refused.value.answer.status == 401
        assert "api-key" in refused.value.answer.message
    else:
        wire.authorise(call)


def test_elsewhere_that_header_is_no_key() -> None:
    call = make_call(headers={"api-key": "k"})
    assert openai_chat.WIRE.api_key(call) is None
