"""Paths with a wrong base: the intended provider and the message of the 404."""

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


def resolve_target(method: str, path: str, **headers: str) -> Target:
    other_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    call = Call(method, path, {}, {"host": "127.0.0.1:8000", **other_headers}, b"")
    target = find_target(call) or find_misplaced_target(call)
    assert target is not None
    return target


def error_message(target: Target) -> str:
    assert (target.endpoint, target.error and target.error.answer.status) == (None, 404)
    assert target.error is not None
    return target.error.answer.message


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
    target = resolve_target("POST", path)
    assert target.wire.provider == provider
    intended_path = base + path.removeprefix("/proxy")
    assert error_message(target) == (
        f"Unknown request URL: POST {path}. Did you mean {HOST}{intended_path}? "
        f"Then the base URL is {HOST}{base}"
    )


@pytest.mark.parametrize(
    ("provider", "path", "extra_prefix"),
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
def test_extra_path_prefix_is_named_in_the_404(provider: str, path: str, extra_prefix: str) -> None:
    target = resolve_target("POST", path)
    assert target.wire.provider == provider
    assert error_message(target) == (
        f"Unknown request URL: POST {path}. Did you mean {HOST}{path.removeprefix(extra_prefix)}? "
        f"Then leave {extra_prefix} out of the base URL."
    )


def test_trailing_slash_has_no_advice_on_the_base_url() -> None:
    message = error_message(resolve_target("POST", "/v1/messages/"))
    assert message == (f"Unknown request URL: POST /v1/messages/. Did you mean {HOST}/v1/messages?")


def test_endpoint_url_as_the_base_is_reported() -> None:
    path = "/v1/chat/completions/chat/completions"
    assert error_message(resolve_target("POST", path)).endswith(f"Then the base URL is {HOST}/v1")
    assert resolve_target("POST", "/v1/chat/completions/c1").endpoint is not None


def test_model_name_may_contain_a_path() -> None:
    assert resolve_target("GET", "/v1/models/models/gpt-4o").params == {"model": "models/gpt-4o"}


@pytest.mark.parametrize(
    ("headers", "provider", "base"),
    [
        ({}, "openai", "/v1"),
        ({"authorization": "Bearer k"}, "openai", "/v1"),
        ({"anthropic_version": "2023-06-01"}, "anthropic", "/v1"),
        ({"x_goog_api_key": "k"}, "gemini", "/v1beta"),
    ],
)
def test_models_path_belongs_to_the_provider_of_the_headers(
    headers: dict[str, str], provider: str, base: str
) -> None:
    target = resolve_target("GET", "/models", **headers)
    assert target.wire.provider == provider
    assert error_message(target).endswith(f"Then the base URL is {HOST}{base}")


def test_advice_has_the_scheme_of_the_call_or_paths_without_a_host() -> None:
    secure = Call("POST", "/messages", {}, {"host": "mock.example"}, b"", scheme="https")
    target = find_misplaced_target(secure)
    assert target is not None
    assert error_message(target).endswith("Then the base URL is https://mock.example/v1")
    target = find_misplaced_target(Call("POST", "/messages", {}, {}, b""))
    assert target is not None
    assert error_message(target).endswith("Did you mean /v1/messages? Then the base URL is /v1")


def test_error_has_the_envelope_of_the_intended_provider() -> None:
    target = resolve_target("POST", "/v1/api/chat")
    assert target.error is not None
    body = json.loads(target.wire.error(target.error.answer, request_id="r"))
    assert body == {"error": target.error.answer.message}


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


def test_method_of_a_single_provider_decides_despite_the_headers() -> None:
    assert resolve_target("DELETE", "/models/m", x_goog_api_key="k").wire.provider == "openai"


@pytest.mark.parametrize(
    "path", ["/v1/nothing", "/v1/threads/t/messages", "/v1/fim/completions", "/openai/x/responses"]
)
def test_unknown_path_below_a_prefix_gets_that_providers_404(path: str) -> None:
    target = resolve_target("POST", path)
    assert (target.wire.provider, error_message(target)) == (
        "openai",
        f"Unknown request URL: POST {path}.",
    )


def test_path_of_no_provider_gets_a_404_that_lists_the_apis() -> None:
    call = Call("POST", "/v2/chat", {}, {"x-api-key": "k"}, b"")
    target = unowned_target(call)
    message = error_message(target)
    assert message.startswith("Unknown request URL: POST /v2/chat. No provider's API here has it.")
    assert "openai /v1/" in message and "gemini /v1beta/" in message
    body = target.error and target.error.answer.body
    envelope = {"message": message, "type": "invalid_request_error", "param": None}
    assert body == {"message": message, "error": {**envelope, "code": "unknown_url"}}
    assert target.provider == ""


@pytest.mark.parametrize(
    "headers", [{"x-api-key": "k"}, {"authorization": "Bearer k"}, {"x-goog-api-key": "k"}]
)
def test_key_on_a_path_of_no_provider_may_be_any_providers(headers: dict[str, str]) -> None:
    call = Call("POST", "/v2/chat", {}, headers, b"")
    assert unowned_target(call).api_key(call) == "k"
    ollama_target = find_target(Call("POST", "/api/chat", {}, headers, b""))
    assert ollama_target is not None
    assert ollama_target.provider == "ollama"
    assert ollama_target.api_key(call) == ("k" if "authorization" in headers else None)
