"""Misbehaving clients, official SDKs and plain HTTP, against a live server."""

import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import Barrier
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from mockllm_site.serve.connection import HttpConnection
from scenarios_app.control.session_loader import load_session
from scenarios_app.serving.fast.direct import FastLayer
from scenarios_app.serving.services import pipeline_now
from scenarios_app.verdict.judge import judge
from scenarios_app.verdict.session import Finding, response_text
from tests.serving.transports.protocol_server import make_settings
from tests.support.live_server import Live, LiveServer
from tests.verdict.random_scenarios import tool_call

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "get_weather", "parameters": WEATHER}}
]
PACED = {
    "text": "one two three four five",
    "pacing": {"chunk_ms": 60_000, "words_per_chunk": 1},
}


class ImpatientOpenAI(openai.OpenAI):
    """An SDK client that retries without waiting."""

    def _calculate_retry_timeout(self, *args: Any, **options: Any) -> float:
        return 0.0


class StubbornAnthropic(anthropic.Anthropic):
    """An SDK client that retries every error."""

    def _should_retry(self, response: Any) -> bool:
        return True

    def _calculate_retry_timeout(self, *args: Any, **options: Any) -> float:
        return 0.0


@pytest.fixture(scope="module")
def counting_server(django_db_setup: None, django_db_blocker: Any) -> Iterator[LiveServer]:
    from mockllm_site.asgi import application

    # The connections of `mockllm serve`, which count those of a session.
    http = partial(HttpConnection, settings=make_settings(FastLayer(pipeline_now)))
    unblock, block = django_db_blocker.unblock, django_db_blocker.block
    with unblock(), LiveServer(application, http=http) as server, block():
        yield server


@pytest.fixture
def live(counting_server: LiveServer, live: Live) -> Live:
    """Return the server of `mockllm serve`."""
    return replace(live, server=counting_server)


@pytest.fixture
def any_server(shared_server: LiveServer, live: Live) -> Live:
    """Return a server such as daphne, whose connections are not counted."""
    return replace(live, server=shared_server)


def load(live: Live, *steps: Mapping[str, Any]) -> None:
    live.load({"name": "script", "steps": list(steps)})


def failing(times: int, **fault: Any) -> dict[str, Any]:
    return {"failures": {"times": times, "fault": fault}, "produce": {"text": "At last."}}


def findings(live: Live) -> list[Finding]:
    live.requests()
    return list(judge(load_session(live.session).session).findings)


def rules(live: Live) -> list[str]:
    return [finding.rule for finding in findings(live)]


def openai_client(live: Live, kind: type[openai.OpenAI] = openai.OpenAI) -> openai.OpenAI:
    return kind(base_url=live.openai_base_url, api_key=live.key, timeout=60)


def ask(client: openai.OpenAI, messages: list[Any], **fields: Any) -> Any:
    return client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS, **fields)


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def post(live: Live, text: str, **fields: Any) -> httpx2.Response:
    body = {"model": "gpt-4o", "messages": [user(text)], **fields}
    url, key = f"{live.openai_base_url}/chat/completions", f"Bearer {live.key}"
    return httpx2.post(url, json=body, headers={"authorization": key}, trust_env=False)


def test_retry_before_the_requested_wait_is_reported(live: Live) -> None:
    load(live, failing(2, kind="rate_limit", retry_after_ms=30_000))
    ask(openai_client(live, ImpatientOpenAI), [user("Hello")])
    first, second = findings(live)
    assert (first.rule, second.rule) == ("retry-after-ignored", "retry-after-ignored")
    ids = [str(row.uid) for row in live.requests()]
    assert (first.requests, second.requests) == (tuple(ids[:2]), tuple(ids[1:]))
    assert first.message.startswith("sent again ")
    assert first.message.endswith("after a 429 that asked to wait 30.0 s")


@pytest.fixture
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tolerate slow retries of a loop; the pauses of the SDKs are longer."""
    for module in ("retries", "transport_rules"):
        monkeypatch.setattr(f"scenarios_app.verdict.{module}.MIN_PAUSE_SECONDS", 0.3)


@pytest.mark.usefixtures("slow_machine")
def test_loop_without_a_pause_is_reported(live: Live) -> None:
    load(live, failing(3, kind="model_error"))
    while post(live, "Hello").status_code != 200:
        pass
    assert rules(live) == ["no-back-off"]


def test_loop_that_fails_to_its_end_is_noted(live: Live) -> None:
    load(live, failing(3, kind="http", status=401))
    assert [post(live, "Hello").status_code for _ in range(3)] == [401, 401, 401]
    (note,) = findings(live)
    assert (note.rule, note.level) == ("retries-undecided", "note")
    ids = [str(row.uid) for row in live.requests()]
    assert (note.request, note.requests) == (ids[2], (ids[0], ids[2]))
    assert "retried-unretryable if one client sent them" in note.message


@pytest.mark.usefixtures("slow_machine")
@pytest.mark.parametrize("attempts", [1, 2])
def test_loop_without_a_pause_around_sdk_calls_is_reported(live: Live, attempts: int) -> None:
    load(live, failing(2 * attempts, kind="model_error"))
    client = openai_client(live).with_options(max_retries=attempts - 1)
    answer = None
    while answer is None:
        with suppress(openai.InternalServerError):
            answer = ask(client, [user("Hello")])
    assert len(live.requests()) == 2 * attempts + 1
    assert rules(live) == ["no-back-off"]


@pytest.mark.parametrize("attempts", [1, 2])
def test_parallel_sdk_calls_are_not_reported_as_a_loop(live: Live, attempts: int) -> None:
    load(
        live,
        failing(2 * attempts, kind="model_error"),
        {"consume": False, "produce": {"text": "Hi."}},
    )
    client = openai_client(live).with_options(max_retries=attempts - 1)

    barrier = Barrier(6)

    def send_request(_: int) -> bool:
        barrier.wait()
        with suppress(openai.InternalServerError):
            return bool(ask(client, [user("Hello")]))
        return False

    with ThreadPoolExecutor(6) as threads:
        assert any(list(threads.map(send_request, range(6))))
    # A busy machine may handle them in sequence, which makes the finding undecided.
    assert rules(live) in ([], ["retries-undecided"])


def test_calls_of_two_clients_one_after_another_are_undecided(live: Live) -> None:
    load(live, failing(2, kind="model_error"))
    first, second = (openai_client(live).with_options(max_retries=0) for _ in range(2))
    for client in (first, first, second):
        with suppress(openai.InternalServerError):
            ask(client, [user("Hello")])
    assert rules(live) == ["retries-undecided"]


def test_loop_is_undecided_where_connections_are_not_counted(any_server: Live) -> None:
    load(any_server, failing(2, kind="model_error"))
    while post(any_server, "Hello").status_code != 200:
        pass
    assert rules(any_server) == ["retries-undecided"]


def test_retries_of_an_unretryable_error_are_reported(live: Live) -> None:
    load(live, failing(9, kind="http", status=401))
    client = StubbornAnthropic(base_url=live.base_url, api_key=live.key, max_retries=2)
    with pytest.raises(anthropic.AuthenticationError):
        client.messages.create(
            model="claude-sonnet-5-5", max_tokens=9, messages=[{"role": "user", "content": "Hello"}]
        )
    assert rules(live) == ["retried-unretryable", "retried-unretryable"]


def test_truncated_response_in_the_history_is_reported(live: Live) -> None:
    cut = {"text": "one two three four", "fault": {"kind": "truncate", "after_chunks": 1}}
    load(live, {"produce": cut}, {"produce": {"text": "Go on."}})
    half = response_text(post(live, "Count.", stream=True).text)
    assert half
    ask(openai_client(live), [user("Count."), {"role": "assistant", "content": half}, user("And?")])
    assert rules(live) == ["truncated-taken-as-complete"]


def test_stream_closed_by_its_client_is_reported(live: Live) -> None:
    load(live, {"produce": PACED})
    body = b'{"model": "gpt-4o", "stream": true, "messages": [{"role": "user", "content": "Hi"}]}'
    with socket.create_connection(("127.0.0.1", live.port), 20) as client:
        client.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
            b"Authorization: Bearer " + live.key.encode() + b"\r\n"
            b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body
        )
        assert client.recv(65_536).startswith(b"HTTP/1.1 200")
    wait_for_journal_row(live)
    assert rules(live) == ["stream-closed-early"]


def test_stream_closed_before_its_usage_is_reported(live: Live) -> None:
    load(live, {"produce": PACED})
    stream = ask(
        openai_client(live), [user("Hi")], stream=True, stream_options={"include_usage": True}
    )
    next(iter(stream))
    stream.close()
    wait_for_journal_row(live)
    assert rules(live) == ["stream-closed-early", "usage-unread"]


def wait_for_journal_row(live: Live) -> None:
    """Wait until the request is in the journal, at most the time limit of the test."""
    while not live.requests():
        pass


@pytest.mark.parametrize(
    ("select_results", "expected_rules"),
    [
        (lambda calls: [result(calls[0])], ["tool-result-missing"]),
        (
            lambda calls: [*map(result, calls), result(calls[0], id="call_0")],
            ["tool-result-unknown"],
        ),
        (lambda calls: list(map(result, calls)), []),
    ],
    ids=["one of two", "one too many", "both"],
)
def test_missing_and_unknown_tool_results_are_reported(
    live: Live, select_results: Any, expected_rules: list[str]
) -> None:
    load(live, {"produce": tool_call("Paris", "Rome")}, {"produce": {"text": "Sunny."}})
    client = openai_client(live)
    message = ask(client, [user("Weather?")]).choices[0].message
    history = [user("Weather?"), message.model_dump(exclude_none=True)]
    ask(client, [*history, *select_results(message.tool_calls)])
    assert rules(live) == expected_rules


def result(call: Any, **fields: str) -> dict[str, str]:
    return {"role": "tool", "tool_call_id": fields.get("id", call.id), "content": "sunny"}


def test_scripted_call_that_violates_the_tool_schema_is_reported(live: Live) -> None:
    wrong = {"tool_calls": [{"name": "get_weather", "arguments": {"town": "Paris"}}]}
    load(live, {"produce": wrong})
    ask(openai_client(live), [user("Weather?")])
    (finding,) = findings(live)
    assert finding.rule == "tool-arguments-outside-schema"
    assert finding.message == (
        "the script calls get_weather with arguments where 'city' is a required property"
    )


def test_input_of_a_custom_tool_is_not_judged_by_its_grammar(live: Live) -> None:
    grammar = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /.+/"}}
    tools: list[Any] = [{"type": "custom", "custom": {"name": "exec", "format": grammar}}]
    load(live, {"produce": {"tool_calls": [{"name": "exec", "input": "ls"}]}})
    openai_client(live).chat.completions.create(
        model="gpt-4o", messages=[user("Files?")], tools=tools
    )
    assert rules(live) == []


def test_changing_system_prompt_is_reported(live: Live) -> None:
    load(live, {"produce": {"text": "It is noon."}}, {"produce": {"text": "It still is."}})
    client = anthropic.Anthropic(base_url=live.base_url, api_key=live.key)
    messages: list[Any] = [user("What time is it?")]
    for clock in ("12:00", "12:01"):
        answer = client.messages.create(
            model="claude-sonnet-5-5", max_tokens=99, system=f"It is {clock}.", messages=messages
        )
        messages += [{"role": "assistant", "content": answer.content}, user("And now?")]
    (finding,) = findings(live)
    assert (finding.rule, finding.level) == ("prompt-cache-broken", "warning")
    assert "from “It is 12:00.” to “It is 12:01.”" in finding.message


def test_default_sdk_retries_are_not_reported(live: Live) -> None:
    load(live, failing(2, kind="rate_limit", retry_after_ms=20))
    ask(openai_client(live), [user("Hello")])
    assert len(live.requests()) == 3
    assert rules(live) == []
