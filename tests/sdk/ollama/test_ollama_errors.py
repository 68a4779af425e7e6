"""What only Ollama tells of errors: in its own words, to whoever asks, with no retries."""

from typing import Any

import httpx
import ollama
import pytest

from tests.sdk.ollama.ollama_talk import HELLO, OllamaTalk
from tests.serving.pipelines import says, scenario
from tests.support.live_server import Live


def test_a_rate_limit_says_when_to_come_again(live: Live) -> None:
    fault = {"kind": "rate_limit", "retry_after_ms": 1_500}
    live.load(scenario("one", {"consume": False, "produce": {"fault": fault}}))
    answer = httpx.post(f"{live.base_url}/api/chat", json=HELLO)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
    assert set(answer.json()) == {"error"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": "m", "messages": [{"role": "robot"}]}, "messages[0].role: invalid role 'robot'"),
        ({"model": "m", "messages": [{"role": "user"}], "options": {"stop": "x"}}, "options.stop"),
        ({"messages": [{"role": "user"}]}, "model is required"),
        ({"model": "m", "messages": [{}], "stream": 1}, "messages[0].role is required"),
    ],
)
def test_a_malformed_request_names_the_place(live: Live, given: Any, said: str) -> None:
    answer = httpx.post(f"{live.base_url}/api/chat", json=given)
    assert answer.status_code == 400
    assert said in answer.json()["error"]


def test_an_unknown_model_is_not_found(live: Live, llama: OllamaTalk) -> None:
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
def test_other_methods_and_paths_are_told_in_ollamas_words(
    live: Live, method: str, path: str, status: int
) -> None:
    answer = httpx.request(method, f"{live.base_url}{path}")
    assert answer.status_code == status
    assert list(answer.json()) == ["error"] and path in answer.json()["error"]


def test_the_rest_of_the_api_has_our_own_errors(live: Live) -> None:
    for path in ("/api/chats", "/api/pull", "/api/chat/x"):
        answer = httpx.post(f"{live.base_url}{path}", json={})
        assert answer.status_code == 404
        assert answer.json()["code"] == "NOT_FOUND"


def test_unsupported_ollama_endpoint_raises_in_its_client(live: Live, llama: OllamaTalk) -> None:
    with pytest.raises(ollama.ResponseError) as raised:
        llama.ask("copy", source="llama3.2", destination="other")
    assert raised.value.status_code == 404


def test_our_headers_and_a_probe(live: Live) -> None:
    live.load(scenario("greet", says("Hi!", name="hello")))
    answer = httpx.post(f"{live.base_url}/api/chat", json=HELLO, headers={"origin": "http://x"})
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["x-mockllm-scenario"] == "greet"
    assert answer.headers["x-mockllm-step"] == "hello"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert all(line.endswith(b"}") for line in answer.content.split(b"\n")[:-1])
    probe = httpx.head(f"{live.base_url}/api/tags")
    assert (probe.status_code, probe.content) == (200, b"")
    assert httpx.get(f"{live.base_url}/api/version").json()["version"]


def test_a_failing_attempt_is_not_tried_again_by_the_client(live: Live, llama: OllamaTalk) -> None:
    failures = {"times": 1, "fault": {"kind": "rate_limit"}}
    live.load(scenario("one", {"failures": failures, "produce": {"text": "At last."}}))
    with pytest.raises(ollama.ResponseError):
        llama.whole(**HELLO)
    assert llama.whole(**HELLO).message.content == "At last."
    assert [(row.status, row.attempt) for row in live.requests()] == [(429, 1), (200, 1)]
