"""OpenAI's endpoints under the paths of Azure, and Azure's key."""

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


def resolve_target(method: str, path: str) -> Target:
    target = find_target(make_call(method, path))
    assert target is not None
    return target


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
def test_azure_path_is_an_alias_of_openais_endpoint(method: str, path: str, canonical: str) -> None:
    target = resolve_target(method, path)
    assert target.endpoint is not None
    assert target.endpoint.canonical == canonical
    wire = openai_responses.WIRE if "responses" in path else openai_chat.WIRE
    (endpoint,) = [e for e in wire.endpoints if (e.method, e.pattern) == (method, canonical)]
    read, pattern = target.endpoint.read, target.endpoint.pattern
    assert target.endpoint == replace(endpoint, read=read, pattern=pattern, alias_of=canonical)
    azure = openai_chat.WIRES_BY_DIALECT["azure"]
    assert target.wire is (openai_responses.WIRE if "responses" in path else azure)


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
    target = resolve_target("POST", path)
    assert target.wire.provider == "openai"
    assert target.error is not None
    assert (target.error.answer.status, target.error.answer.code) == (404, "unknown_url")


def test_wrong_method_is_405_with_the_allowed_one() -> None:
    error = resolve_target("GET", f"{DEPLOYMENT}/chat/completions").error
    assert error is not None
    assert (error.answer.status, error.answer.headers) == (405, (("allow", "POST"),))


def test_request_has_its_path_and_the_canonical_route() -> None:
    path = f"{DEPLOYMENT}/chat/completions"
    target = resolve_target("POST", path)
    assert target.endpoint is not None
    body: Json = {"messages": [{"role": "user", "content": "x"}]}
    request = target.endpoint.read(
        make_call("POST", path), target.endpoint, target.params, Node(body)
    )
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
def test_deployment_is_the_model_unless_the_body_has_one(
    path: str, body: dict[str, Json], model: str | None, expected: str
) -> None:
    target = resolve_target("POST", f"{DEPLOYMENT}/{path}")
    assert target.endpoint is not None
    full_body: Json = {**body, "model": model}
    call = make_call("POST", f"{DEPLOYMENT}/{path}")
    assert (
        target.endpoint.read(call, target.endpoint, target.params, Node(full_body)).model
        == expected
    )


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
def test_azures_key_is_read_from_either_header(headers: dict[str, str], key: str | None) -> None:
    call = make_call(path=f"{DEPLOYMENT}/chat/completions", headers=headers)
    wire = openai_chat.WIRE
    assert wire.api_key(call) == key
    if key is None:
        with pytest.raises(WireError) as raised:
            wire.authorise(call)
        assert raised.value.answer.status == 401
        assert "api-key" in raised.value.answer.message
    else:
        wire.authorise(call)


def test_azures_key_header_is_ignored_on_other_paths() -> None:
    call = make_call(headers={"api-key": "k"})
    assert openai_chat.WIRE.api_key(call) is None
