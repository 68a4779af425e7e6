"""Answers over a WebSocket under `serve` equal those of the same request over HTTP."""

import asyncio
import gc
import json
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from scenarios_app.serving.fast.direct import FastLayer
from scenarios_app.serving.fast.websocket_protocol import WebSocketProtocol
from tests.serving.pipelines import Harness, responses, scenario, text_step
from tests.serving.websocket.connections import connected, socket_server, text_of

PACED = text_step("one two three four", match={"model": "paced"})
PACED["produce"]["pacing"] = {"chunk_ms": 10, "words_per_chunk": 1}
LIMITED = {
    "consume": False,
    "match": {"model": "limited"},
    "produce": {"fault": {"kind": "rate_limit", "retry_after_ms": 2500}},
}
CONTINUED = text_step("Continued.", match={"messages": [{"role": "assistant", "contains": "Hi"}]})
DOCUMENT = scenario(
    "s", PACED, LIMITED, CONTINUED, text_step("Hi there.", match={"model": "gpt-4o"})
)


@pytest.mark.parametrize("model", ["gpt-4o", "paced"])
async def test_events_are_those_of_the_same_request_over_http(
    monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    http_harness = Harness(DOCUMENT)
    _, _, body = await http_harness.ask(responses("Hello", model=model, stream=True))
    data = [line for line in body.decode().splitlines() if line.startswith("data: ")]
    async with socket_server(monkeypatch, DOCUMENT) as (port, _), connected(port) as client:
        await client.send(model=model, input="Hello")
        events = await client.answer()
    assert [event["type"] for event in events] == [
        json.loads(event_line[6:])["type"] for event_line in data
    ]
    assert text_of(events[-1]) == text_of(json.loads(data[-1][6:]))


def has_frame_templates(harness: Harness) -> bool:
    """Return whether an answer was filled into frames."""
    path = harness.layer._short_path
    entries = path.templates._entries.values() if path is not None else ()
    return any(getattr(entry.value, "frame_templates", None) for entry in entries)


@pytest.mark.parametrize("stream_id", [None, "lane"])
async def test_template_gives_the_events_of_the_first_answers(
    monkeypatch: pytest.MonkeyPatch, stream_id: str | None
) -> None:
    lane = {} if stream_id is None else {"stream_id": stream_id}
    async with socket_server(monkeypatch, DOCUMENT) as (port, harness), connected(port) as client:
        answers = []
        for _ in range(6):
            await client.send(model="gpt-4o", input="Hello", **lane)
            events = await client.answer()
            ids = events[0]["response"]["id"].removeprefix("resp_")
            assert [event.get("stream_id") for event in events] == [stream_id] * len(events)
            answers.append(json.dumps(events).replace(ids, "ID"))
        assert has_frame_templates(harness)
    assert len(set(answers)) == 1
    assert len({entry.uid for entry in harness.journal}) == 6


@pytest.mark.parametrize(
    "produce",
    [
        {"text": "Grüße, one two three."},
        {"reasoning": "Well.", "text": "One."},
        {"tool_calls": [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]},
        {"refusal": "No."},
    ],
)
async def test_short_path_gives_the_messages_of_the_pipeline(
    monkeypatch: pytest.MonkeyPatch, produce: dict[str, Any]
) -> None:
    document = scenario("s", {"consume": False, "produce": produce})
    messages: list[list[str]] = []
    for has_short_path in (True, False):
        if not has_short_path:
            monkeypatch.setattr(FastLayer, "short_path", lambda *_: None)
        async with (
            socket_server(monkeypatch, document) as (port, harness),
            connected(port) as client,
        ):
            answers = []
            for lane in (None, None, None, "a", "b", None):
                lane_fields = {} if lane is None else {"stream_id": lane}
                await client.send(model="gpt-4o", input="Hello", **lane_fields)
                answers.append(json.dumps(await client.answer()))
            messages.append(answers)
            # Reasoning has no template, also over HTTP.
            expects_template = has_short_path and "reasoning" not in produce
            assert has_frame_templates(harness) is expects_template
    assert messages[0] == messages[1]


async def test_response_from_a_template_can_be_continued_without_being_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, _), connected(port) as client:
        for _ in range(5):
            response = (await client.ask(store=False))["response"]
        answer = await client.ask("And?", previous_response_id=response["id"])
    assert text_of(answer) == "Continued."


async def test_whole_answer_of_a_step_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = {"status": 200, "body": {"type": "response.completed", "any": 1}}
    document = scenario("s", {"consume": False, "produce": {"raw": raw}})
    async with socket_server(monkeypatch, document) as (port, _), connected(port) as client:
        for _ in range(4):
            assert await client.ask() == raw["body"]


async def test_journal_entry_has_request_without_fields_of_the_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, harness), connected(port) as client:
        await client.ask(stream_id="a", generate=True, background=False)
        entry = harness.journal[-1]
    assert (entry.method, entry.path, entry.status) == ("POST", "/v1/responses", 200)
    assert json.loads(entry.request_body) == {"model": "gpt-4o", "input": "Hello", "stream": True}
    assert entry.request_headers["upgrade"] == "websocket"
    assert entry.request_headers["sec-websocket-key"]
    assert (entry.outcome, entry.scenario, entry.streamed) == ("complete", "s", True)


async def test_error_has_status_and_headers_of_http_and_ends_only_its_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, _), connected(port) as client:
        error = await client.ask(model="limited", stream_id="a")
        assert (error["status"], error["stream_id"]) == (429, "a")
        assert error["error"]["code"] == "rate_limit_exceeded"
        assert error["headers"]["retry-after"] == error["error"]["headers"]["retry-after"] == "3"
        assert text_of(await client.ask()) == "Hi there."


async def test_unmatched_request_is_an_error_event_and_counts_as_unmatched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, harness), connected(port) as client:
        error = await client.ask(model="other")
    assert (error["status"], error["error"]["code"]) == (404, "no_scenario_matched")
    assert harness.journal[-1].outcome == "unmatched"


async def test_response_that_is_not_stored_can_be_continued_on_its_connection_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, _):
        async with connected(port) as client:
            first = (await client.ask(store=False))["response"]["id"]
            assert text_of(await client.ask("And?", previous_response_id=first)) == "Continued."
        async with connected(port) as client:
            error = await client.ask("And?", previous_response_id=first)
    assert error["error"]["code"] == "previous_response_not_found"
    assert (error["status"], error["error"]["param"]) == (400, "previous_response_id")


async def test_warm_up_consumes_no_step_and_can_be_continued(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = scenario("s", {"produce": {"text": "Once."}})
    async with socket_server(monkeypatch, document) as (port, harness), connected(port) as client:
        warm_up = await client.ask("Prepare.", generate=False, store=False)
        assert (warm_up["type"], warm_up["response"]["output"]) == ("response.completed", [])
        answer = await client.ask("Go.", previous_response_id=warm_up["response"]["id"])
    assert text_of(answer) == "Once."
    assert [entry.matched for entry in harness.journal] == [True, True]
    assert answer["response"]["previous_response_id"] == warm_up["response"]["id"]


async def test_lanes_run_at_the_same_time_and_each_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, _), connected(port) as client:
        await client.send(model="paced", input="first", stream_id="slow")
        await client.send(model="gpt-4o", input="second", stream_id="slow")
        await client.send(model="gpt-4o", input="third", stream_id="fast")
        ends = []
        while len(ends) < 3:
            event = await client.event()
            if event["type"] == "response.completed":
                ends.append((event["stream_id"], text_of(event)))
    assert ends == [("fast", "Hi there."), ("slow", "one two three four"), ("slow", "Hi there.")]


async def test_steering_of_a_paced_response_continues_it(monkeypatch: pytest.MonkeyPatch) -> None:
    then = text_step("Then.", match={"messages": [{"role": "user", "contains": "Stop"}]})
    async with (
        socket_server(monkeypatch, scenario("s", then, PACED)) as (port, _),
        connected(port) as client,
    ):
        await client.send(model="paced", input="Hello")
        name = (await client.event())["response"]["id"]
        steer = {"type": "response.steer", "previous_response_id": name, "input": "Stop."}
        await client.connection.send(json.dumps(steer))
        events = await client.answer()
        assert "response.steer.accepted" in [event["type"] for event in events]
        successor = (await client.answer())[-1]
    assert text_of(successor) == "Then."
    assert successor["response"]["previous_response_id"] == name


async def test_model_of_the_url_is_used_without_another(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/xai/v1/responses?model=gpt-4o"
    async with socket_server(monkeypatch, DOCUMENT) as (port, _), connected(port, path) as client:
        await client.send(input="Hello")
        assert text_of((await client.answer())[-1]) == "Hi there."


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1beta/models/m:x"])
async def test_upgrade_without_websocket_api_is_426_and_in_the_journal(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, harness):
        with pytest.raises(InvalidStatus) as raised:
            async with connected(port, path, key=None):
                pass
    assert raised.value.response.status_code == 426
    assert raised.value.response.headers["Upgrade"] == "websocket"
    assert "error" in json.loads(raised.value.response.body)
    (entry,) = harness.journal
    assert (entry.method, entry.path, entry.status, entry.matched) == ("GET", path, 426, False)


async def test_upgrade_with_a_wrong_base_url_is_426_and_names_the_right_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, harness):
        with pytest.raises(InvalidStatus) as raised:
            async with connected(port, "/responses"):
                pass
    assert raised.value.response.status_code == 426
    assert "/v1" in json.loads(raised.value.response.body)["error"]["message"]
    assert harness.journal[0].path == "/responses"


async def test_answers_that_wait_for_shared_state_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, harness):
        state, scenarios_of = harness.state, harness.state.scenarios_of

        async def wait(session: str) -> Any:
            await asyncio.sleep(0)
            return await scenarios_of(session)

        monkeypatch.setattr(state, "scenarios_of", wait)
        monkeypatch.setattr(harness.pipeline, "waits", True)
        async with connected(port) as client:
            assert text_of(await client.ask()) == "Hi there."
            assert (await client.ask(model="limited"))["status"] == 429


async def test_shutdown_ends_answers_first_and_refuses_new_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = text_step("one two", match={"model": "slow"})
    slow["produce"]["pacing"] = {"chunk_ms": 1_000, "words_per_chunk": 1}
    async with (
        socket_server(monkeypatch, scenario("s", slow)) as (port, _),
        connected(port) as idle,
        connected(port) as client,
    ):
        await client.send(model="slow", input="Hello", stream_id="a")
        await client.event()
        for protocol in gc.get_objects():
            if isinstance(protocol, WebSocketProtocol):
                protocol.shutdown()
        await client.send(model="gpt-4o", input="Hello")
        events = await client.answer()
        assert (events[-1]["type"], events[-1]["status"]) == ("error", 503)
        assert text_of((await client.answer())[-1]) == "one two"
        assert await client.close_code() == await idle.close_code() == 1012


@pytest.mark.parametrize(
    ("key", "headers", "status"),
    [
        (None, {}, 401),
        ("k", {"origin": "https://elsewhere.example"}, 403),
        ("k", {"x-mockllm-session": "x" * 300}, 400),
    ],
)
async def test_handshake_is_refused_as_a_request_over_http(
    monkeypatch: pytest.MonkeyPatch, key: str | None, headers: dict[str, str], status: int
) -> None:
    async with socket_server(monkeypatch, DOCUMENT) as (port, harness):
        with pytest.raises(InvalidStatus) as raised:
            async with connected(port, key=key, **headers):
                pass
    assert raised.value.response.status_code == harness.journal[-1].status == status


async def test_allowed_origin_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    origin = "https://app.example"
    async with (
        socket_server(monkeypatch, DOCUMENT, cors_origins=(origin,)) as (port, _),
        connected(port, origin=origin) as client,
    ):
        assert text_of(await client.ask()) == "Hi there."
