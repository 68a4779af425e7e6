"""Errors as Ollama's client raises them, with their status and their text."""

from typing import Any

import httpx
import ollama
import pytest

from tests.live import Live
from tests.sdk.ollama.ollama_talk import OllamaTalk
from tests.sdk.ollama.test_ollama_answers import HELLO, PROMPT
from tests.serving.pipelines import says, scenario

STATUSES = [400, 401, 403, 404, 409, 422, 429, 500, 503]


@pytest.mark.parametrize("status", STATUSES)
def test_a_scripted_error(live: Live, llama: OllamaTalk, status: int) -> None:
    fault = {"kind": "http", "status": status, "message": "Nein – not now."}
    live.load(scenario("one", {"consume": False, "produce": {"fault": fault}}))
    for ask in (llama.whole, llama.stream):
        with pytest.raises(ollama.ResponseError) as raised:
            ask(**HELLO)
        assert (raised.value.status_code, raised.value.error) == (status, "Nein – not now.")
    assert [row.outcome for row in live.requests()] == ["fault", "fault"]


@pytest.mark.parametrize(("kind", "status"), [("rate_limit", 429), ("model_error", 500)])
def test_an_error_by_its_kind(live: Live, llama: OllamaTalk, kind: str, status: int) -> None:
    live.load(scenario("one", {"consume": False, "produce": {"fault": {"kind": kind}}}))
    with pytest.raises(ollama.ResponseError) as raised:
        llama.whole("generate", **PROMPT)
    assert raised.value.status_code == status and raised.value.error.startswith("Simulated")


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


def test_what_no_scenario_matches_names_the_nearest(live: Live, llama: OllamaTalk) -> None:
    live.load(scenario("greet", {"match": {"model": "mistral"}, "produce": {"text": "x"}}))
    for ask in (llama.whole, llama.stream):
        with pytest.raises(ollama.ResponseError) as raised:
            ask(**HELLO)
        assert raised.value.status_code == 404
        assert raised.value.error.startswith("no_scenario_matched: ")
        assert "greet" in raised.value.error and "mistral" in raised.value.error


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


def test_what_ollama_does_not_have_here_is_told_by_its_client(
    live: Live, llama: OllamaTalk
) -> None:
    with pytest.raises(ollama.ResponseError) as raised:
        llama.ask("copy", source="llama3.2", destination="other")
    assert raised.value.status_code == 404


def test_a_body_that_is_too_large(live: Live, llama: OllamaTalk, settings: Any) -> None:
    text = "x" * (settings.MOCKLLM_MAX_BODY_BYTES + 1)
    with pytest.raises(ollama.ResponseError) as raised:
        llama.whole(model="llama3.2", messages=[{"role": "user", "content": text}])
    assert raised.value.status_code == 413 and "larger than" in raised.value.error
    live.load(scenario("one", says("Still here.")))
    assert llama.whole(**HELLO).message.content == "Still here."


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
