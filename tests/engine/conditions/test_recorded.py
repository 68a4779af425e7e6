"""The condition of a recorded step: matching requests, and the differences of the others."""

import json
from typing import Any

import pytest

from scenarios_app.engine.canonical import CanonicalRequest, SentRequest, attach_sent
from scenarios_app.engine.conditions.recorded import (
    RecordedCondition,
    describe_difference,
    last_text,
)
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.document import DocumentError, load_match
from scenarios_app.engine.recorded.requests import Difference
from tests.engine.match_builders import chat_request

BODY = {
    "model": "gpt-4o",
    "messages": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "tool_calls": [{"id": "call_1", "function": {"name": "get"}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
    ],
}


def recorded_condition(**recorded: Any) -> RecordedCondition:
    (condition,) = load_match({"recorded": {"body": BODY, **recorded}}).of(RecordedCondition)
    return condition


def received_request(body: Any, method: str = "POST") -> CanonicalRequest:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return attach_sent(chat_request("x"), SentRequest(method, {}, data))


def changed_body(**keys: Any) -> dict[str, Any]:
    return {**json.loads(json.dumps(BODY)), **keys}


def body_with_result(content: str, call_id: str = "call_1") -> dict[str, Any]:
    body = changed_body()
    body["messages"][1]["tool_calls"][0]["id"] = call_id
    body["messages"][2] |= {"content": content, "tool_call_id": call_id}
    return body


def test_recorded_request_matches_with_other_ids_unless_ids_are_exact() -> None:
    assert recorded_condition().holds(RequestReader(received_request(BODY)))
    assert recorded_condition().holds(
        RequestReader(received_request(body_with_result("sunny", "call_2")))
    )
    strict_condition, reader = (
        recorded_condition(exact=["ids"]),
        RequestReader(received_request(body_with_result("sunny", "call_2"))),
    )
    assert strict_condition.holds(RequestReader(received_request(BODY)))
    assert not strict_condition.holds(reader)
    assert set(strict_condition.mismatches(reader)) == {
        ("match.recorded.messages[1].tool_calls[0].id", '"call_1"', '"call_2"'),
        ("match.recorded.messages[2].tool_call_id", '"call_1"', '"call_2"'),
    }


def test_request_with_another_tool_result_does_not_match() -> None:
    reader = RequestReader(received_request(body_with_result("rain")))
    assert not recorded_condition().holds(reader)
    assert list(recorded_condition().mismatches(reader)) == [
        ("match.recorded.messages[2].content", '"sunny"', '"rain"')
    ]
    assert (
        recorded_condition().actual(reader) == 'messages[2].content changed from "sunny" to "rain"'
    )


def test_added_and_removed_keys_are_mismatches() -> None:
    reader = RequestReader(received_request({"messages": BODY["messages"], "temperature": 1}))
    assert sorted(recorded_condition().mismatches(reader)) == [
        ("match.recorded.model", '"gpt-4o"', "nothing"),
        ("match.recorded.temperature", "nothing", "1"),
    ]
    assert describe_difference(Difference("new", "a", None, [1])) == "a is new: [1]"
    assert describe_difference(Difference("removed", "a", {"b": 1}, None)) == 'a is gone: {"b": 1}'
    assert (
        describe_difference(Difference("new", "a", None, "x" * 100))
        == 'a is new: "' + "x" * 79 + '…"'
    )


def test_at_most_ten_differences_are_listed() -> None:
    reader = RequestReader(received_request({f"key{number}": number for number in range(20)}))
    assert len(list(recorded_condition().mismatches(reader))) == 10
    description = recorded_condition().actual(
        RequestReader(received_request({"messages": BODY["messages"], "temperature": 1}))
    )
    assert description == 'model is gone: "gpt-4o"; temperature is new: 1'


def test_rules_between_equal_requests_are_listed() -> None:
    assert recorded_condition().actual(RequestReader(received_request(BODY))) == "the same"
    reader = RequestReader(received_request(body_with_result("sunny", "call_2")))
    assert recorded_condition().actual(reader) == "the same but for what these rules leave out: ids"
    labelled = RequestReader(
        received_request(body_with_result("sunny", "call_2") | {"metadata": {"a": "b"}})
    )
    assert recorded_condition().actual(labelled).endswith(": ids, labels")


def test_request_without_a_body_never_matches() -> None:
    reader = RequestReader(chat_request("x"))
    assert not recorded_condition().holds(reader)
    assert recorded_condition().distance(reader) == 1.0
    assert not recorded_condition().holds_exactly(reader)
    assert list(recorded_condition().mismatches(reader)) == [
        (
            "match.recorded",
            "the same conversation as was recorded",
            "a request of which only the head is known",
        )
    ]


def test_more_similar_request_is_nearer() -> None:
    near, far = (
        RequestReader(received_request(body_with_result("rain"))),
        RequestReader(received_request({"input": "x"})),
    )
    assert 0 < recorded_condition().distance(near) < recorded_condition().distance(far) <= 1
    assert recorded_condition().distance(RequestReader(received_request(BODY))) == 0.0


def test_only_the_identical_request_holds_exactly() -> None:
    assert recorded_condition().holds_exactly(RequestReader(received_request(BODY)))
    assert not recorded_condition().holds_exactly(
        RequestReader(received_request(body_with_result("sunny", "call_2")))
    )


def test_body_that_is_no_json_is_compared_as_text() -> None:
    text = recorded_condition(body="--x\r\na\r\n--x--")
    assert text.holds(RequestReader(received_request(b"--y\r\na\r\n--y--")))
    assert recorded_condition(body='{"a": 1}').holds(RequestReader(received_request({"a": 1})))


def test_method_is_compared() -> None:
    get = recorded_condition(method="GET", body=None)
    assert get.holds(RequestReader(received_request(b"", "GET")))
    assert not get.holds(RequestReader(received_request(b"", "DELETE")))


def test_recorded_condition_can_fail_next_turn_and_may_be_masked() -> None:
    assert recorded_condition().can_fail_next_turn and recorded_condition().may_be_masked
    assert not load_match({"recorded": None}).conditions


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"messages": [{"content": "a"}, {"content": [{"text": "b"}, {"x": 1}]}]}, "b"),
        ({"messages": [{"content": "a"}, {"role": "assistant"}]}, "a"),
        ({"input": "said"}, "said"),
        ({"input": [{"output": "a result"}]}, "a result"),
        ({"prompt": "asked"}, "asked"),
        ({"contents": [{"parts": [{"text": "g"}]}]}, "g"),
        ({"other": 1}, ""),
        (None, ""),
    ],
)
def test_phrase_of_a_recorded_step_quotes_its_last_text(body: Any, text: str) -> None:
    assert last_text(body) == text
    phrases = list(RecordedCondition.phrases({"body": body}))
    assert phrases == [
        f"the recorded conversation “{text}”" if text else "the recorded conversation"
    ]


def test_invalid_recording_has_no_phrase() -> None:
    assert list(RecordedCondition.phrases("x")) == []


def test_unknown_rule_is_rejected_with_its_path() -> None:
    with pytest.raises(DocumentError, match=r"match.recorded.exact\[0\]: expected secrets, ids"):
        load_match({"recorded": {"exact": ["nothing"]}})
