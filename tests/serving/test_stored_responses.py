"""Responses that a session stores, through the pipeline: a request continues an earlier one."""

import json
from typing import Any

import pytest

from scenarios_app.engine import memory
from scenarios_app.wire.base import Call
from tests.serving.pipelines import KEY, Harness, scenario, text_step

WEATHER = {"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}}


def call(method: str = "POST", path: str = "", query: Any = None, /, **body: Any) -> Call:
    headers = {"authorization": f"Bearer {body.pop('key', KEY)}"}
    raw = json.dumps(body).encode() if method == "POST" and not path else b""
    return Call(method, f"/v1/responses{path}", query or {}, headers, raw)


async def ask(harness: Harness, **body: Any) -> dict[str, Any]:
    status, _, response_body = await harness.ask(call(**body))
    assert status == 200, response_body
    response: dict[str, Any] = json.loads(response_body)
    return response


async def fetch_error(harness: Harness, request_call: Call) -> tuple[int, str]:
    status, _, response_body = await harness.ask(request_call)
    error = json.loads(response_body)["error"]
    return status, error["code"]


def weather_harness(**options: Any) -> Harness:
    tool = {"match": {"messages": [{"role": "tool", "contains": "sunny"}]}, **text_step("Sunny.")}
    turn = {"match": {"messages": [{"role": "user", "which": "first", "equals": "Go"}]}}
    return Harness(
        scenario("weather", tool, {**turn, **text_step("x"), "produce": {"tool_calls": [WEATHER]}}),
        scenario("say", text_step("Hello."), priority=-1),
        **options,
    )


async def test_tool_loop_matches_on_earlier_messages() -> None:
    harness = weather_harness()
    first = await ask(harness, input="Go")
    assert first["output"][0]["name"] == "get_weather"
    result = {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}
    body = {"previous_response_id": first["id"], "input": [result]}
    second = await ask(harness, **body)
    assert second["output"][0]["content"][0]["text"] == "Sunny."
    # The client did not send the earlier messages again: stored answers supply them.
    third = await ask(harness, previous_response_id=second["id"], input="And?")
    assert third["output"][0]["content"][0]["text"] == "Sunny."
    assert (await ask(harness, input="And?"))["output"][0]["content"][0]["text"] == "Hello."


async def test_sessions_do_not_see_each_others_answers() -> None:
    harness = weather_harness()
    first = await ask(harness, input="x")
    foreign_call = call(previous_response_id=first["id"], key="other")
    assert await fetch_error(harness, foreign_call) == (400, "previous_response_not_found")


async def test_reset_forgets_stored_responses() -> None:
    harness = weather_harness()
    first = await ask(harness, input="x")
    await harness.state.reset(None)
    next_call = call(previous_response_id=first["id"])
    assert await fetch_error(harness, next_call) == (400, "previous_response_not_found")
    assert await fetch_error(harness, call("GET", f"/{first['id']}")) == (404, "response_not_found")


async def test_refused_request_consumes_no_step() -> None:
    harness = Harness(scenario("once", text_step("Hello.", consume=True)))
    assert (await fetch_error(harness, call(previous_response_id="resp_x")))[0] == 400
    assert (await ask(harness, input="x"))["output"]


async def test_the_history_counts_as_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = weather_harness()
    last = await ask(harness, input="x")
    object.__setattr__(harness.options, "limits", type(harness.options.limits)(messages=4))
    last = await ask(harness, input="x", previous_response_id=last["id"])
    status, _, response_body = await harness.ask(call(input="x", previous_response_id=last["id"]))
    assert status == 400 and b"more than 4 messages" in response_body


# A malformed whole answer was never produced, so it cannot be stored.
LOSSY_FAULTS = [(kind, True) for kind in ("disconnect", "truncate", "malformed_chunk", "stall")]
LOSSY_FAULTS += [(kind, False) for kind in ("disconnect", "truncate", "stall")]


def lossy(kind: str) -> Harness:
    """Return a harness whose answer has a fault in the middle."""
    fault = {"kind": kind, "after_chunks": 1, **({"hold_ms": 1} if kind == "stall" else {})}
    produce = {"text": "one two three", "pacing": {"words_per_chunk": 1}, "fault": fault}
    return Harness(scenario("one", {"produce": produce}))


async def test_malformed_whole_answer_is_not_stored() -> None:
    harness = lossy("malformed_chunk")
    await harness.ask(call(input="x"))
    assert [state.responses for state in harness.state._states.values()] == [{}]


@pytest.mark.parametrize(("kind", "stream"), LOSSY_FAULTS)
async def test_answer_that_was_cut_can_be_fetched_again(kind: str, stream: bool) -> None:
    harness = lossy(kind)
    await harness.ask(call(input="x", stream=stream))
    (name,) = harness.state._states[next(iter(harness.state._states))].responses
    _, _, response_body = await harness.ask(call("GET", f"/{name}"))
    assert json.loads(response_body)["output"][0]["content"][0]["text"] == "one two three"
    if stream:
        _, headers, response_body = await harness.ask(call("GET", f"/{name}", {"stream": "true"}))
        assert headers["content-type"].startswith("text/event-stream")
        assert response_body.count(b"event: response.output_text.delta") == 3
        assert b"event: response.completed" in response_body


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "fault", [{"kind": "error_event"}, {"kind": "http", "status": 503}, {"kind": "rate_limit"}]
)
async def test_failed_answer_is_not_stored(fault: dict[str, Any], stream: bool) -> None:
    produce = {"fault": fault} if fault["kind"] != "error_event" else {"text": "x", "fault": fault}
    harness = Harness(scenario("one", {"produce": produce}))
    await harness.ask(call(input="x", stream=stream))
    assert [state.responses for state in harness.state._states.values()] == [{}]


async def test_evicted_response_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_RESPONSES", 1)
    harness = weather_harness()
    first = await ask(harness, input="x")
    second = await ask(harness, input="y")
    assert await fetch_error(harness, call("GET", f"/{first['id']}")) == (404, "response_not_found")
    assert (await harness.ask(call("GET", f"/{second['id']}")))[0] == 200


async def test_a_deleted_answer_is_gone_from_its_session_alone() -> None:
    harness = weather_harness()
    first = await ask(harness, input="x")
    status, _, response_body = await harness.ask(call("DELETE", f"/{first['id']}"))
    assert (status, json.loads(response_body)["deleted"]) == (200, True)
    assert await fetch_error(harness, call("DELETE", f"/{first['id']}")) == (
        404,
        "response_not_found",
    )


async def test_step_with_the_path_answers_for_an_unknown_response() -> None:
    match = {"path": "/v1/responses/{response_id}"}
    raw = {"raw": {"status": 200, "body": '{"id": "scripted"}'}}
    harness = Harness(scenario("one", {"match": match, "produce": raw}))
    _, _, response_body = await harness.ask(call("GET", "/resp_x"))
    assert json.loads(response_body) == {"id": "scripted"}


async def test_answer_to_a_block_is_stored() -> None:
    harness = Harness()
    block = '{"id":"b","messages":[{"text":"One."},{"text":"Two."}]}'
    text = f"<|instruction_start|>{block}<|instruction_end|>"
    first = await ask(harness, input=text)
    texts = [item["content"][0]["text"] for item in first["output"]]
    assert texts == ["One.", "Two."]
    second = await ask(harness, input=[], previous_response_id=first["id"])
    assert second["output"][0]["content"][0]["text"] == "Chain complete."


async def test_every_answer_is_the_same_again_after_a_reset() -> None:
    harness = weather_harness()

    async def run_conversation() -> list[dict[str, Any]]:
        first = await ask(harness, input="Go")
        return [first, await ask(harness, input="x", previous_response_id=first["id"])]

    before = await run_conversation()
    await harness.state.reset(None)
    assert await run_conversation() == before
