"""Answers that a session keeps, through the pipeline: one request goes on from another."""

import json
from typing import Any

import pytest

from scenarios_app.engine import memory
from scenarios_app.wire.base import Call
from tests.serving.pipelines import KEY, Playing, says, scenario

WEATHER = {"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}}


def call(method: str = "POST", path: str = "", query: Any = None, /, **body: Any) -> Call:
    headers = {"authorization": f"Bearer {body.pop('key', KEY)}"}
    raw = json.dumps(body).encode() if method == "POST" and not path else b""
    return Call(method, f"/v1/responses{path}", query or {}, headers, raw)


async def ask(playing: Playing, **body: Any) -> dict[str, Any]:
    status, _, sent = await playing.ask(call(**body))
    assert status == 200, sent
    whole: dict[str, Any] = json.loads(sent)
    return whole


async def refused(playing: Playing, asked: Call) -> tuple[int, str]:
    status, _, sent = await playing.ask(asked)
    error = json.loads(sent)["error"]
    return status, error["code"]


def playing(**options: Any) -> Playing:
    tool = {"match": {"messages": [{"role": "tool", "contains": "sunny"}]}, **says("Sunny.")}
    turn = {"match": {"messages": [{"role": "user", "which": "first", "equals": "Go"}]}}
    return Playing(
        scenario("weather", tool, {**turn, **says("x"), "produce": {"tool_calls": [WEATHER]}}),
        scenario("say", says("Hello."), priority=-1),
        **options,
    )


async def test_a_tools_loop_matches_on_what_was_said_before() -> None:
    here = playing()
    first = await ask(here, input="Go")
    assert first["output"][0]["name"] == "get_weather"
    result = {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}
    body = {"previous_response_id": first["id"], "input": [result]}
    second = await ask(here, **body)
    assert second["output"][0]["content"][0]["text"] == "Sunny."
    # The client did not send the earlier messages again: stored answers supply them.
    third = await ask(here, previous_response_id=second["id"], input="And?")
    assert third["output"][0]["content"][0]["text"] == "Sunny."
    assert (await ask(here, input="And?"))["output"][0]["content"][0]["text"] == "Hello."


async def test_sessions_do_not_see_each_others_answers() -> None:
    here = playing()
    first = await ask(here, input="x")
    other = call(previous_response_id=first["id"], key="other")
    assert await refused(here, other) == (400, "previous_response_not_found")


async def test_a_reset_forgets_them() -> None:
    here = playing()
    first = await ask(here, input="x")
    await here.state.reset(None)
    again = call(previous_response_id=first["id"])
    assert await refused(here, again) == (400, "previous_response_not_found")
    assert await refused(here, call("GET", f"/{first['id']}")) == (404, "response_not_found")


async def test_a_refused_request_uses_nothing_up() -> None:
    here = Playing(scenario("once", says("Hello.", consume=True)))
    assert (await refused(here, call(previous_response_id="resp_x")))[0] == 400
    assert (await ask(here, input="x"))["output"]


async def test_the_history_counts_as_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    here = playing()
    last = await ask(here, input="x")
    object.__setattr__(here.options, "limits", type(here.options.limits)(messages=4))
    last = await ask(here, input="x", previous_response_id=last["id"])
    status, _, sent = await here.ask(call(input="x", previous_response_id=last["id"]))
    assert status == 400 and b"more than 4 messages" in sent


# A malformed whole answer was never produced, so it cannot be stored.
LOST = [(kind, True) for kind in ("disconnect", "truncate", "malformed_chunk", "stall")]
LOST += [(kind, False) for kind in ("disconnect", "truncate", "stall")]


def lossy(kind: str) -> Playing:
    """Who answers with a fault in the middle."""
    fault = {"kind": kind, "after_chunks": 1, **({"hold_ms": 1} if kind == "stall" else {})}
    produce = {"text": "one two three", "pacing": {"words_per_chunk": 1}, "fault": fault}
    return Playing(scenario("one", {"produce": produce}))


async def test_a_whole_answer_that_is_malformed_is_not_kept() -> None:
    here = lossy("malformed_chunk")
    await here.ask(call(input="x"))
    assert [state.responses for state in here.state._states.values()] == [{}]


@pytest.mark.parametrize(("kind", "stream"), LOST)
async def test_an_answer_that_was_lost_on_its_way_can_be_had_again(kind: str, stream: bool) -> None:
    here = lossy(kind)
    await here.ask(call(input="x", stream=stream))
    (name,) = here.state._states[next(iter(here.state._states))].responses
    _, _, sent = await here.ask(call("GET", f"/{name}"))
    assert json.loads(sent)["output"][0]["content"][0]["text"] == "one two three"
    if stream:
        _, headers, sent = await here.ask(call("GET", f"/{name}", {"stream": "true"}))
        assert headers["content-type"].startswith("text/event-stream")
        assert sent.count(b"event: response.output_text.delta") == 3
        assert b"event: response.completed" in sent


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "fault", [{"kind": "error_event"}, {"kind": "http", "status": 503}, {"kind": "rate_limit"}]
)
async def test_an_answer_that_failed_is_not_kept(fault: dict[str, Any], stream: bool) -> None:
    produce = {"fault": fault} if fault["kind"] != "error_event" else {"text": "x", "fault": fault}
    here = Playing(scenario("one", {"produce": produce}))
    await here.ask(call(input="x", stream=stream))
    assert [state.responses for state in here.state._states.values()] == [{}]


async def test_an_answer_that_is_no_longer_kept_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_RESPONSES", 1)
    here = playing()
    first = await ask(here, input="x")
    second = await ask(here, input="y")
    assert await refused(here, call("GET", f"/{first['id']}")) == (404, "response_not_found")
    assert (await here.ask(call("GET", f"/{second['id']}")))[0] == 200


async def test_a_deleted_answer_is_gone_from_its_session_alone() -> None:
    here = playing()
    first = await ask(here, input="x")
    status, _, sent = await here.ask(call("DELETE", f"/{first['id']}"))
    assert (status, json.loads(sent)["deleted"]) == (200, True)
    assert await refused(here, call("DELETE", f"/{first['id']}")) == (404, "response_not_found")


async def test_a_step_that_names_the_path_answers_for_one_that_is_not_kept() -> None:
    path = {"path": "/v1/responses/{response_id}"}
    raw = {"raw": {"status": 200, "body": '{"id": "scripted"}'}}
    here = Playing(scenario("one", {"match": path, "produce": raw}))
    _, _, sent = await here.ask(call("GET", "/resp_x"))
    assert json.loads(sent) == {"id": "scripted"}


async def test_a_block_in_the_request_is_kept_as_any_answer() -> None:
    here = Playing()
    block = '{"id":"b","messages":[{"text":"One."},{"text":"Two."}]}'
    asked = f"<|instruction_start|>{block}<|instruction_end|>"
    first = await ask(here, input=asked)
    texts = [item["content"][0]["text"] for item in first["output"]]
    assert texts == ["One.", "Two."]
    second = await ask(here, input=[], previous_response_id=first["id"])
    assert second["output"][0]["content"][0]["text"] == "Chain complete."


async def test_every_answer_is_the_same_again_after_a_reset() -> None:
    here = playing()

    async def talk() -> list[dict[str, Any]]:
        first = await ask(here, input="Go")
        return [first, await ask(here, input="x", previous_response_id=first["id"])]

    before = await talk()
    await here.state.reset(None)
    assert await talk() == before
