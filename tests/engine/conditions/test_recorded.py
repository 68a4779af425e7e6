"""The condition of a recorded step: who meets it, and what is said of those who do not."""

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
from tests.engine.asking import ask

BODY = {
    "model": "gpt-4o",
    "messages": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "tool_calls": [{"id": "call_1", "function": {"name": "get"}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
    ],
}


def condition(**recorded: Any) -> RecordedCondition:
    (loaded,) = load_match({"recorded": {"body": BODY, **recorded}}).of(RecordedCondition)
    return loaded


def sent(body: Any, method: str = "POST") -> CanonicalRequest:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return attach_sent(ask("x"), SentRequest(method, {}, data))


def changed(**keys: Any) -> dict[str, Any]:
    return {**json.loads(json.dumps(BODY)), **keys}


def with_result(content: str, call_id: str = "call_1") -> dict[str, Any]:
    body = changed()
    body["messages"][1]["tool_calls"][0]["id"] = call_id
    body["messages"][2] |= {"content": content, "tool_call_id": call_id}
    return body


def test_the_recorded_request_is_met_also_with_other_ids() -> None:
    assert condition().holds(RequestReader(sent(BODY)))
    assert condition().holds(RequestReader(sent(with_result("sunny", "call_2"))))
    strict, other = condition(exact=["ids"]), RequestReader(sent(with_result("sunny", "call_2")))
    assert strict.holds(RequestReader(sent(BODY)))
    assert not strict.holds(other)
    assert set(strict.mismatches(other)) == {
        ("match.recorded.messages[1].tool_calls[0].id", '"call_1"', '"call_2"'),
        ("match.recorded.messages[2].tool_call_id", '"call_1"', '"call_2"'),
    }


def test_another_tool_result_is_another_conversation() -> None:
    reader = RequestReader(sent(with_result("rain")))
    assert not condition().holds(reader)
    assert list(condition().mismatches(reader)) == [
        ("match.recorded.messages[2].content", '"sunny"', '"rain"')
    ]
    assert condition().actual(reader) == 'messages[2].content changed from "sunny" to "rain"'


def test_added_and_removed_keys_are_mismatches() -> None:
    reader = RequestReader(sent({"messages": BODY["messages"], "temperature": 1}))
    assert sorted(condition().mismatches(reader)) == [
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
    reader = RequestReader(sent({f"key{number}": number for number in range(20)}))
    assert len(list(condition().mismatches(reader))) == 10
    describe_difference = condition().actual(
        RequestReader(sent({"messages": BODY["messages"], "temperature": 1}))
    )
    assert describe_difference == 'model is gone: "gpt-4o"; temperature is new: 1'


def test_rules_between_equal_requests_are_listed() -> None:
    assert condition().actual(RequestReader(sent(BODY))) == "the same"
    reader = RequestReader(sent(with_result("sunny", "call_2")))
    assert condition().actual(reader) == "the same but for what these rules leave out: ids"
    labelled = RequestReader(sent(with_result("sunny", "call_2") | {"metadata": {"a": "b"}}))
    assert condition().actual(labelled).endswith(": ids, labels")


def test_a_request_of_which_the_body_is_not_known_is_never_met() -> None:
    reader = RequestReader(ask("x"))
    assert not condition().holds(reader)
    assert condition().distance(reader) == 1.0
    assert not condition().holds_exactly(reader)
    assert list(condition().mismatches(reader)) == [
        (
            "match.recorded",
            "the same conversation as was recorded",
            "a request of which only the head is known",
        )
    ]


def test_the_more_alike_a_request_is_the_nearer() -> None:
    near, far = RequestReader(sent(with_result("rain"))), RequestReader(sent({"input": "x"}))
    assert 0 < condition().distance(near) < condition().distance(far) <= 1
    assert condition().distance(RequestReader(sent(BODY))) == 0.0


def test_only_the_very_request_is_met_exactly() -> None:
    assert condition().holds_exactly(RequestReader(sent(BODY)))
    assert not condition().holds_exactly(RequestReader(sent(with_result("sunny", "call_2"))))


def test_a_body_that_was_no_json_is_a_text() -> None:
    text = condition(body="--x\r\na\r\n--x--")
    assert text.holds(RequestReader(sent(b"--y\r\na\r\n--y--")))
    assert condition(body='{"a": 1}').holds(RequestReader(sent({"a": 1})))


def test_the_method_is_part_of_it() -> None:
    get = condition(method="GET", body=None)
    assert get.holds(RequestReader(sent(b"", "GET")))
    assert not get.holds(RequestReader(sent(b"", "DELETE")))


def test_recorded_condition_can_fail_next_turn_and_may_be_masked() -> None:
    assert condition().can_fail_next_turn and condition().may_be_masked
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
def test_people_know_a_step_by_its_last_text(body: Any, text: str) -> None:
    assert last_text(body) == text
    said = list(RecordedCondition.phrases({"body": body}))
    assert said == [f"the recorded conversation “{text}”" if text else "the recorded conversation"]


def test_invalid_recording_has_no_phrase() -> None:
    assert list(RecordedCondition.phrases("x")) == []


def test_a_rule_that_there_is_not_is_refused_by_its_place() -> None:
    with pytest.raises(DocumentError, match=r"match.recorded.exact\[0\]: expected secrets, ids"):
        load_match({"recorded": {"exact": ["nothing"]}})
