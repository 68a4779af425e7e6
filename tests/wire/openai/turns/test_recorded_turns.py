"""Recorded exchanges of the Responses API as turns: inputs, ids and calls."""

import json
from typing import Any

import pytest

from scenarios_app.wire.openai.responses.turns import RecordedTurn, output_of, read_turn

CALL = {"type": "custom_tool_call", "call_id": "call_1", "name": "exec", "input": "ls"}
MESSAGE = {"type": "message", "role": "assistant", "content": []}


def encode_events(*events: Any) -> str:
    return "".join(f"event: x\ndata: {json.dumps(payload)}\n\n" for payload in events)


def event(kind: str, *output: Any, id: Any = "resp_1") -> dict[str, Any]:
    return {"type": f"response.{kind}", "response": {"id": id, "output": list(output)}}


def parse_turn(input: Any, body: str = "", **fields: Any) -> RecordedTurn:
    recorded_turn = read_turn(json.dumps({"input": input, **fields}), body)
    assert recorded_turn is not None
    return recorded_turn


@pytest.mark.parametrize("body", ["", "no JSON", "[]", "{}", '"input"'])
def test_request_without_an_input_is_no_turn(body: str) -> None:
    assert read_turn(body, "") is None


@pytest.mark.parametrize(
    ("input", "inputs"),
    [
        ("Hi", {"user Hi"}),
        ([{"role": "user", "content": "Hi"}], {"user Hi"}),
        (
            [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}, 7, {}]}],
            {"user Hi"},
        ),
        (
            [
                {"type": "function_call_output", "call_id": "a", "output": ""},
                {"type": "custom_tool_call_output", "call_id": "b", "output": ""},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": None},
                "text",
            ],
            {output_of("a"), output_of("b")},
        ),
        (None, set()),
    ],
)
def test_inputs_are_texts_of_the_user_and_outputs(input: Any, inputs: set[str]) -> None:
    assert parse_turn(input).inputs == inputs


def test_previous_response_is_its_id() -> None:
    assert parse_turn("Hi", previous_response_id="resp_0").previous_response == "resp_0"
    assert parse_turn("Hi", previous_response_id=7).previous_response == ""
    assert parse_turn("Hi").previous_response == ""


@pytest.mark.parametrize("kind", ["completed", "incomplete"])
def test_calls_are_those_of_a_whole_response(kind: str) -> None:
    body = encode_events(event("created"), {"type": "error"}, event(kind, MESSAGE, CALL))
    assert parse_turn("Hi", body).calls == {"call_1": "exec"}
    assert parse_turn("Hi", body).response == "resp_1"


def test_response_that_was_cut_has_an_id_and_no_calls() -> None:
    done = {"type": "response.output_item.done", "item": CALL}
    turn = parse_turn("Hi", encode_events(event("created"), done) + 'data: {"type": "resp')
    assert (turn.response, turn.calls, turn.is_refused) == ("resp_1", {}, False)


def test_response_without_an_id_has_no_calls() -> None:
    turn = parse_turn("Hi", encode_events(event("completed", CALL, id=None)))
    assert (turn.response, turn.calls) == ("", {})


def test_unknown_previous_response_is_a_refusal() -> None:
    error = {"error": {"code": "previous_response_not_found", "message": "unknown"}}
    assert parse_turn("Hi", json.dumps(error)).is_refused
