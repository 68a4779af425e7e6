"""Paths that begin otherwise than a provider's: whose they look like, and what is said of them."""

import json

import pytest

from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import (
    Target,
    find_intended_path,
    find_misplaced_target,
    find_target,
    unowned_target,
)

HOST = "http://127.0.0.1:8000"
SHARED = "Unknown request URL: {method} {path}. Did you mean " + HOST


def target(method: str, path: str, **headers: str) -> Target:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    call = Call(method, path, {}, {"host": "127.0.0.1:8000", **given}, b"")
    found = find_target(call) or find_misplaced_target(call)
    assert found is not None
    return found


def told(found: Target) -> str:
    assert (found.endpoint, found.error and found.error.answer.status) == (None, 404)
    assert found.error is not None
    return found.error.answer.message


@pytest.mark.parametrize(
    ("provider", "path", "base"),
    [
        ("openai", "/chat/completions", "/v1"),
        ("openai", "/completions", "/v1"),
        ("openai", "/responses", "/v1"),
        ("openai", "/embeddings", "/v1"),
        ("openai", "/proxy/chat/completions", "/v1"),
        ("openai", "/deployments/d/chat/completions", "/openai"),
        ("anthropic", "/messages", "/v1"),
        ("anthropic", "/messages/count_tokens", "/v1"),
        ("gemini", "/models/gemini-2.5-flash:generateContent", "/v1beta"),
        ("gemini", "/models/m:streamGenerateContent", "/v1beta"),
        ("ollama", "/chat", "/api"),
        ("ollama", "/generate", "/api"),
    ],
)
def test_missing_path_prefix_is_named_in_the_404(provider: str, path: str, base: str) -> None:
    found = target("POST", path)
    assert found.wire.provider == provider
    right = base + path.removeprefix("/proxy")
    assert told(found) == (
        f"Unknown request URL: POST {path}. Did you mean {HOST}{right}? "
        f"Then the base URL is {HOST}{base}"
    )


@pytest.mark.parametrize(
    ("provider", "path", "lead"),
    [
        ("openai", "/v1/v1/chat/completions", "/v1"),
        ("openai", "//v1/chat/completions", "/"),
        ("openai", "/openai/openai/deployments/d/chat/completions", "/openai"),
        ("anthropic", "/v1/v1/messages", "/v1"),
        ("anthropic", "/anthropic/v1/messages", "/anthropic"),
        ("gemini", "/v1beta/v1beta/models/m:generateContent", "/v1beta"),
        ("gemini", "/v1/v1beta/models/m:generateContent", "/v1"),
        ("ollama", "/v1/api/chat", "/v1"),
        ("ollama", "/ollama/api/embed", "/ollama"),
    ],
)
def test_extra_path_prefix_is_named_in_the_404(provider: str, path: str, lead: str) -> None:
    found = target("POST", path)
    assert found.wire.provider == provider
    assert told(found) == (
        f"Unknown request URL: POST {path}. Did you mean {HOST}{path.removeprefix(lead)}? "
        f"Then leave {lead} out of the base URL."
    )


def test_a_slash_at_the_end_says_nothing_of_the_base() -> None:
    message = told(target("POST", "/v1/messages/"))
    assert message == (f"Unknown request URL: POST /v1/messages/. Did you mean {HOST}/v1/messages?")


def test_the_whole_url_as_a_base_is_no_completions_id() -> None:
    path = "/v1/chat/completions/chat/completions"
    assert told(target("POST", path)).endswith(f"Then the base URL is {HOST}/v1")
    assert target("POST", "/v1/chat/completions/c1").endpoint is not None


def test_a_models_name_may_hold_what_looks_like_a_path() -> None:
    assert target("GET", "/v1/models/models/gpt-4o").params == {"model": "models/gpt-4o"}


@pytest.mark.parametrize(
    ("headers", "provider", "base"),
    [
        ({}, "openai", "/v1"),
        ({"authorization": "Bearer k"}, "openai", "/v1"),
        ({"anthropic_version": "2023-06-01"}, "anthropic", "/v1"),
        ({"x_goog_api_key": "k"}, "gemini", "/v1beta"),
    ],
)
def test_the_models_are_those_of_whose_client_it_is(
    headers: dict[str, str], provider: str, base: str
) -> None:
    found = target("GET", "/models", **headers)
    assert found.wire.provider == provider
    assert told(found).endswith(f"Then the base URL is {HOST}{base}")


def test_the_scheme_is_the_clients_and_without_a_host_paths_are_told() -> None:
    secure = Call("POST", "/messages", {}, {"host": "mock.example"}, b"", scheme="https")
    found = find_misplaced_target(secure)
    assert found is not None
    assert told(found).endswith("Then the base URL is https://mock.example/v1")
    found = find_misplaced_target(Call("POST", "/messages", {}, {}, b""))
    assert found is not None
    assert told(found).endswith("Did you mean /v1/messages? Then the base URL is /v1")


def test_the_envelope_is_that_of_the_provider() -> None:
    found = target("POST", "/v1/api/chat")
    assert found.error is not None
    body = json.loads(found.wire.error(found.error.answer, request_id="r"))
    assert body == {"error": found.error.answer.message}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", ""),
        ("GET", "/chat"),
        ("GET", "/messages"),
        ("POST", "/nothing"),
        ("POST", "/v2/chat"),
        ("POST", "/threads/t/messages"),
        ("POST", "/chat/completions/x/y/z"),
        ("GET", "/admin/scenarios_app/scenario/"),
        ("POST", "/x" * 5_000),
    ],
)
def test_path_unlike_any_providers_has_no_target(method: str, path: str) -> None:
    assert find_intended_path(method, path) is None
    assert find_misplaced_target(Call(method, path, {}, {}, b"")) is None


def test_a_method_that_one_provider_has_is_that_ones_whoever_the_client_is() -> None:
    assert target("DELETE", "/models/m", x_goog_api_key="k").wire.provider == "openai"


@pytest.mark.parametrize(
    "path", ["/v1/nothing", "/v1/threads/t/messages", "/v1/fim/completions", "/openai/x/responses"]
)
def test_unknown_path_below_a_prefix_gets_that_providers_404(path: str) -> None:
    found = target("POST", path)
    assert (found.wire.provider, told(found)) == ("openai", f"Unknown request URL: POST {path}.")


def test_path_of_no_provider_gets_a_404_that_lists_the_apis() -> None:
    call = Call("POST", "/v2/chat", {}, {"x-api-key": "k"}, b"")
    found = unowned_target(call)
    message = told(found)
    assert message.startswith("Unknown request URL: POST /v2/chat. No provider's API here has it.")
    assert "openai /v1/" in message and "gemini /v1beta/" in message
    body = found.error and found.error.answer.body
    envelope = {"message": message, "type": "invalid_request_error", "param": None}
    assert body == {"message": message, "error": {**envelope, "code": "unknown_url"}}
    assert found.provider == ""


@pytest.mark.parametrize(
    "headers", [{"x-api-key": "k"}, {"authorization": "Bearer k"}, {"x-goog-api-key": "k"}]
)
def test_key_on_a_path_of_no_provider_may_be_any_providers(headers: dict[str, str]) -> None:
    call = Call("POST", "/v2/chat", {}, headers, b"")
    assert unowned_target(call).api_key(call) == "k"
    owned = find_target(Call("POST", "/api/chat", {}, headers, b""))
    assert owned is not None
    assert owned.provider == "ollama"
    assert owned.api_key(call) == ("k" if "authorization" in headers else None)
