"""Tool calls of an agent, read from the journal, whichever API it speaks."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.simulate.conversation import call_json, finished_calls
from scenarios_app.testing.control import Control
from scenarios_app.testing.process import ServerOptions, server_process
from scenarios_app.testing.stubs import Mockllm
from tests.simulate.scripts import STEPS

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]
Send = Callable[[str, Any], Any]
PROMPT = "12"
RESULT = "refunded 12"


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with server_process(ServerOptions()) as (url, _):
        yield url


def chat(send: Send, *, finish: bool) -> None:
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    answer = send("/v1/chat/completions", {"model": "m", "messages": messages})
    message = answer["choices"][0]["message"]
    call = message["tool_calls"][0]
    result = {"role": "tool", "tool_call_id": call["id"], "content": RESULT}
    if finish:
        send("/v1/chat/completions", {"model": "m", "messages": [*messages, message, result]})


def responses(send: Send, *, finish: bool) -> None:
    answer = send("/v1/responses", {"model": "m", "input": PROMPT})
    call = next(item for item in answer["output"] if item["type"] == "function_call")
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": RESULT}
    if finish:
        # The call itself is not sent again.
        body = {"model": "m", "previous_response_id": answer["id"], "input": [result]}
        send("/v1/responses", body)


def anthropic(send: Send, *, finish: bool) -> None:
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    body = {"model": "m", "max_tokens": 99}
    answer = send("/v1/messages", {**body, "messages": messages})
    call = next(block for block in answer["content"] if block["type"] == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": RESULT}
    messages += [
        {"role": "assistant", "content": answer["content"]},
        {"role": "user", "content": [result]},
    ]
    if finish:
        send("/v1/messages", {**body, "messages": messages})


def gemini(send: Send, *, finish: bool) -> None:
    contents: list[Any] = [{"role": "user", "parts": [{"text": PROMPT}]}]
    path = "/v1beta/models/m:generateContent"
    answer = send(path, {"contents": contents})
    content = answer["candidates"][0]["content"]
    result = {"functionResponse": {"name": "refund", "response": {"result": RESULT}}}
    if finish:
        send(path, {"contents": [*contents, content, {"role": "user", "parts": [result]}]})


def ollama(send: Send, *, finish: bool) -> None:
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    body = {"model": "m", "stream": False}
    answer = send("/api/chat", {**body, "messages": messages})
    result = {"role": "tool", "tool_name": "refund", "content": RESULT}
    if finish:
        send("/api/chat", {**body, "messages": [*messages, answer["message"], result]})


@pytest.mark.parametrize("api", [chat, responses, anthropic, gemini, ollama])
@pytest.mark.parametrize("finish", [True, False])
def test_call_counts_when_its_result_was_sent(base_url: str, api: Any, finish: bool) -> None:
    control = Control(base_url)
    session = Mockllm(control, f"sk-{api.__name__}-{finish}")
    session.scenario({"name": "refund", "steps": STEPS})
    headers = {
        "authorization": f"Bearer {session.api_key}",
        "x-api-key": session.api_key,
        "x-goog-api-key": session.api_key,
        "anthropic-version": "2023-06-01",
        "x-mockllm-session": session.session if api is ollama else "",
    }

    def send(path: str, body: Any) -> Any:
        url = base_url + path
        response = httpx2.post(url, json=body, headers=headers, trust_env=False)
        assert response.status_code == 200, response.text
        return response.json()

    api(send, finish=finish)
    calls = [call_json(call) for call in finished_calls(session.requests)]
    control.close()
    assert calls == [{"name": "refund", "arguments": {"order": 12}}] * finish


def test_failed_answers_and_embeddings_call_nothing(base_url: str) -> None:
    control = Control(base_url)
    session = Mockllm(control, "sk-failed")
    headers = {"authorization": f"Bearer {session.api_key}"}
    session.on("12").fail(503)
    bodies = {"/v1/chat/completions": {"messages": [{"role": "user", "content": PROMPT}]}}
    for path, body in {**bodies, "/v1/embeddings": {"input": PROMPT}}.items():
        httpx2.post(base_url + path, json={"model": "m", **body}, headers=headers, trust_env=False)
    assert len(session.requests) == 2
    assert finished_calls(session.requests) == []
    control.close()


def test_entries_that_are_no_model_requests_are_left_out() -> None:
    sent = {"method": "POST", "body": "{"}
    entries = [
        {"path": path, "status": 400, "request": sent, "response": {"body": ""}}
        for path in ("/elsewhere", "/v1/chat/completions")
    ]
    assert finished_calls(entries) == []


@pytest.mark.parametrize(
    "arguments", ["[" * 100_000, "{", '{"a": NaN}'], ids=["deep", "cut", "NaN"]
)
def test_arguments_that_are_no_json_are_reported_as_text(arguments: str) -> None:
    call = ToolCallPart("c", "refund", arguments)
    assert call_json(call) == {"name": "refund", "arguments": arguments}
