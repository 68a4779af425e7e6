"""Errors in Ollama's format, without an API key and without retries."""

from typing import Any

import httpx
import ollama
import pytest

from tests.sdk.ollama.ollama_client import HELLO, OllamaClient
from tests.serving.pipelines import scenario, text_step
from tests.support.live_server import Live


def test_rate_limit_has_retry_headers(live: Live) -> None:
    fault = {"kind": "rate_limit", "retry_after_ms": 1_500}
    live.load(scenario("one", {"consume": False, "produce": {"fault": fault}}))
    answer = httpx.post(f"{live.base_url}/api/chat", json=HELLO)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
    assert set(answer.json()) == {"error"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"model": "m", "messages": [{"role": "robot"}]}, "messages[0].role: invalid role 'robot'"),
        ({"model": "m", "messages": [{"role": "user"}], "options": {"stop": "x"}}, "options.stop"),
        ({"messages": [{"role": "user"}]}, "model is required"),
        ({"model": "m", "messages": [{}], "stream": 1}, "messages[0].role is required"),
    ],
)
def test_a_malformed_request_names_the_place(live: Live, body: Any, message: str) -> None:
    answer = httpx.post(f"{live.base_url}/api/chat", json=body)
    assert answer.status_code == 400
    assert message in answer.json()["error"]


def test_an_unknown_model_is_not_found(live: Live, llama: OllamaClient) -> None:
    with pytest.raises(ollama.ResponseError) as raised:
        llama.ask("show", model="nobody")
    assert (raised.value.status_code, raised.value.error) == (404, "model 'nobody' not found")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/chat", 405),
        ("PUT", "/api/generate", 405),
        ("POST", "/api/tags", 405),
        ("POST", "/api/chat/", 404),
        ("GET", "/api/version/", 404),
    ],
)
def test_wrong_methods_and_paths_return_errors_in_ollamas_format(
    live: Live, method: str, path: str, status: int
) -> None:
    answer = httpx.request(method, f"{live.base_url}{path}")
    assert answer.status_code == status
    assert list(answer.json()) == ["error"] and path in answer.json()["error"]


def test_unknown_api_paths_return_the_mocks_error_format(live: Live) -> None:
    for path in ("/api/chats", "/api/pull", "/api/chat/x"):
        answer = httpx.post(f"{live.base_url}{path}", json={})
        assert answer.status_code == 404
        assert answer.json()["code"] == "NOT_FOUND"


def test_unsupported_ollama_endpoint_raises_in_its_client(live: Live, llama: OllamaClient) -> None:
    with pytest.raises(ollama.ResponseError) as raised:
        llama.ask("copy", source="llama3.2", destination="other")
    assert raised.value.status_code == 404


def test_our_headers_and_a_probe(live: Live) -> None:
    live.load(scenario("greet", text_step("Hi!", name="hello")))
    answer = httpx.post(f"{live.base_url}/api/chat", json=HELLO, headers={"origin": "http://x"})
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["x-mockllm-scenario"] == "greet"
    assert answer.headers["x-mockllm-step"] == "hello"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert all(line.endswith(b"}") for line in answer.content.split(b"\n")[:-1])
    probe = httpx.head(f"{live.base_url}/api/tags")
    assert (probe.status_code, probe.content) == (200, b"")
    assert httpx.get(f"{live.base_url}/api/version").json()["version"]


def test_client_does_not_retry_a_failed_attempt(live: Live, llama: OllamaClient) -> None:
    failures = {"times": 1, "fault": {"kind": "rate_limit"}}
    live.load(scenario("one", {"failures": failures, "produce": {"text": "At last."}}))
    with pytest.raises(ollama.ResponseError):
        llama.create(**HELLO)
    assert llama.create(**HELLO).message.content == "At last."
    assert [(row.status, row.attempt) for row in live.requests()] == [(429, 1), (200, 1)]
