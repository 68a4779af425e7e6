"""The control API of a running server: raw requests, disconnects, concurrency."""

import http.client
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from mockllm_site.kit.api.locality import ADDRESS_VARIABLE
from tests.control.control_client import error_of, scenario, text_step
from tests.support.live_server import Live


@pytest.fixture
def http_client(live: Live, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx2.Client]:
    """Yield a client; the server decides access by the address of the connection."""
    monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    with httpx2.Client(base_url=live.base_url, trust_env=False) as client:
        yield client


def send_chat(live: Live, text: str = "Hello", **fields: Any) -> httpx2.Response:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **fields}
    headers = {"authorization": f"Bearer {live.key}"}
    url = f"{live.openai_base_url}/chat/completions"
    return httpx2.post(url, json=body, headers=headers, trust_env=False)


def test_put_scenario_answers_the_next_request(live: Live, http_client: httpx2.Client) -> None:
    for text in ("one", "two", "three"):
        http_client.put(
            "/control/scenarios/x", json=scenario("x", text_step(text))
        ).raise_for_status()
        assert send_chat(live).json()["choices"][0]["message"]["content"] == text


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_is_in_the_journal_once_its_answer_has_ended(
    live: Live, http_client: httpx2.Client, stream: bool
) -> None:
    http_client.post("/control/scenarios", json=scenario("x", text_step("a b c", consume=False)))
    for count in range(1, 21):
        assert send_chat(live, stream=stream).text
        page = http_client.get("/control/requests", params={"session": live.key}).json()
        assert len(page["requests"]) == count


def test_a_body_in_chunks_is_read_whole(live: Live, http_client: httpx2.Client) -> None:
    # A chunked body has no length; taken as an empty one it would reset every session.
    http_client.post("/control/scenarios", json=scenario("x", text_step("x", consume=False)))
    send_chat(live)

    def body_chunks() -> Iterator[bytes]:
        yield b'{"session": '
        yield b'"somebody-else"}'

    headers = {"content-type": "application/json"}
    response = http_client.post("/control/reset", content=body_chunks(), headers=headers)
    assert response.json() == {"session": "somebody-else", "scenarios": False}
    assert len(live.requests()) == 1


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused(http_client: httpx2.Client, chunked: bool) -> None:
    def body_chunks() -> Iterator[bytes]:
        for _ in range(11):
            yield b" " * 1_048_576

    content = body_chunks() if chunked else b" " * 11_534_336
    headers = {"content-type": "application/json"}
    response = http_client.post("/control/scenarios", content=content, headers=headers)
    assert error_of(response) == (413, "VALIDATION_ERROR", None)
    assert http_client.get("/control/scenarios").status_code == 200


def test_encoded_slash_is_part_of_the_name(http_client: httpx2.Client) -> None:
    path = "/control/scenarios/a%2Fsteps"
    assert http_client.put(path, json=scenario("a/steps")).status_code == 201
    assert http_client.get(path).json() == scenario("a/steps")
    assert error_of(http_client.post(path, json=text_step("x"))) == (405, "VALIDATION_ERROR", None)
    assert error_of(http_client.get("/control/scenarios/a/steps"))[0] == 405
    assert error_of(http_client.post("/control/scenarios/a/steps", json=text_step("x")))[0] == 404
    assert http_client.post(f"{path}/steps", json=text_step("x")).status_code == 201
    assert http_client.delete(path).status_code == 204


def test_foreign_host_header_is_rejected(live: Live, http_client: httpx2.Client) -> None:
    response = http_client.get("/control/requests", headers={"host": "evil.example"})
    assert error_of(response) == (400, "VALIDATION_ERROR", None)
    # Two Host headers: no combination of them is an allowed host.
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=60)
    connection.putrequest("GET", "/control/requests", skip_host=True)
    connection.putheader("host", "localhost")
    connection.putheader("host", "evil.example")
    connection.endheaders()
    assert connection.getresponse().status in (400, 403)
    connection.close()


def test_cors_preflight_is_rejected(http_client: httpx2.Client) -> None:
    headers = {
        "origin": "https://evil.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }
    response = http_client.request("OPTIONS", "/control/reset", headers=headers)
    assert error_of(response) == (403, "FORBIDDEN", None)
    assert not any(name.startswith("access-control") for name in response.headers)


def test_response_has_no_cors_headers(http_client: httpx2.Client) -> None:
    response = http_client.get("/control/requests", headers={"origin": "https://evil.example"})
    assert not any(name.startswith("access-control") for name in response.headers)


def test_the_api_can_be_used_while_streams_run(live: Live, http_client: httpx2.Client) -> None:
    # Explaining and verifying must not block the event loop that serves the streams.
    produce = {"text": "word " * 20, "pacing": {"chunk_ms": 10, "words_per_chunk": 1}}
    steps = [{"produce": produce, "consume": False}]
    http_client.post("/control/scenarios", json=scenario("paced", *steps))
    explain_body = {
        "path": "/v1/chat/completions",
        "headers": {"authorization": f"Bearer {live.key}"},
        "body": {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]},
    }

    def send_control_request(n: int) -> int:
        if n % 2:
            return http_client.post("/control/explain", json=explain_body).status_code
        verify_body = {"session": live.key, "match": {"model": "gpt-4o"}}
        return http_client.post("/control/verify", json=verify_body).status_code

    with ThreadPoolExecutor(8) as threads:
        streams = [threads.submit(send_chat, live, stream=True) for _ in range(4)]
        assert set(threads.map(send_control_request, range(20))) == {200}
        for stream in streams:
            assert stream.result().text.endswith("data: [DONE]\n\n")


def test_scenarios_put_at_the_same_time_all_arrive(http_client: httpx2.Client) -> None:
    def add(n: int) -> int:
        return http_client.post("/control/scenarios", json=scenario(f"s{n % 20}")).status_code

    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(add, range(40)))
    assert sorted(statuses) == [201] * 20 + [409] * 20
    assert len(http_client.get("/control/scenarios").json()["scenarios"]) == 20


def test_steps_pushed_at_the_same_time_all_arrive(http_client: httpx2.Client) -> None:
    http_client.put("/control/scenarios/queue", json={"name": "queue"})

    def push(n: int) -> int:
        path = "/control/scenarios/queue/steps"
        return http_client.post(path, json=text_step(str(n))).status_code

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(push, range(30))) == {201}
    steps = http_client.get("/control/scenarios/queue").json()["steps"]
    assert sorted(int(step["produce"]["text"]) for step in steps) == list(range(30))


def test_disconnect_during_body_changes_nothing(live: Live, http_client: httpx2.Client) -> None:
    body = json.dumps(scenario("half")).encode()
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=60)
    connection.putrequest("POST", "/control/scenarios")
    connection.putheader("content-type", "application/json")
    connection.putheader("content-length", str(len(body) + 10))
    connection.endheaders(body)
    connection.close()
    assert http_client.get("/control/scenarios").json()["scenarios"] == []
