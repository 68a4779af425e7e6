"""`/control/changes` breaks or alters single answers by their number in a session."""

import json
from typing import Any

import pytest

from scenarios_app.engine.document.recorded import digest_of_answer
from tests.control.control_client import Control, chat, error_of, reply_text, says, scenario

KEY = "sk-changes"


@pytest.fixture(autouse=True)
def _ended(control: Control) -> Any:
    yield
    control.delete("changes")


def put(control: Control, *changes: dict[str, Any], session: str | None = None) -> Any:
    return control.put("changes", {"session": session, "changes": list(changes)})


def answers(control: Control) -> list[tuple[int, str, str | None]]:
    body = control.get("changes").json()
    return [(one["number"], one["step"], one["change"]) for one in body["answers"]]


def test_change_strikes_its_answer_and_a_retry_gets_the_step(control: Control) -> None:
    control.post("scenarios", scenario("s", says("one"), says("two")))
    fault = {"kind": "http", "status": 529, "message": "busy"}
    assert put(control, {"answer": 1, "fault": fault}).status_code == 200
    first = chat("hi", key=KEY)
    assert (first.status_code, first.headers["x-mockllm-change"]) == (529, "http")
    assert [reply_text(chat("hi", key=KEY)) for _ in range(2)] == ["one", "two"]
    assert answers(control) == [(1, "1", "http"), (2, "1", None), (3, "2", None)]


def test_next_other_request_consumes_the_step_of_an_altered_answer(control: Control) -> None:
    control.post("scenarios", scenario("s", says("I am 21."), says("two")))
    put(control, {"answer": 1, "alteration": "number"})
    altered = chat("hi", key=KEY)
    assert reply_text(altered) == "I am 2100."
    assert altered.headers["x-mockllm-change"] == "number"
    assert reply_text(chat("and now?", key=KEY)) == "two"
    assert "x-mockllm-change" not in chat("and now?", key=KEY).headers


def test_changed_step_is_altered_whenever_it_answers_and_is_consumed(control: Control) -> None:
    steps = says("1 of 2.", equivalent_changes={"name": "none here"}), says("1 of 3.", name="x")
    control.post("scenarios", scenario("s", *steps))
    put(control, {"step": "s/1", "alteration": "number", "nth": 2})
    first, second = chat("hi", key=KEY), chat("hi", key=KEY)
    assert [reply_text(first), reply_text(second)] == ["1 of 200.", "1 of 3."]
    assert first.headers["x-mockllm-change"] == "number"
    body = control.get("changes").json()
    assert body["changes"] == [{"step": "s/1", "alteration": "number", "nth": 2}]
    one, other = body["answers"]
    assert (one["before"], one["after"]) == ("2", "200")
    assert one["equivalent_changes"] == {"name": "none here"}
    assert {"alteration": "number", "nth": 1, "before": "1", "after": "100"} in one["variants"]
    assert (other["change"], other["before"], other["equivalent_changes"]) == (None, "", {})


def test_changed_step_is_altered_although_it_was_recorded(control: Control) -> None:
    message = {"role": "assistant", "content": "I am 21."}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "id": "real"}
    produce: dict[str, Any] = {"text": "I am 21."}
    recorded = {
        "chunks": [json.dumps(body)],
        "path": "/v1/chat/completions",
        "of": digest_of_answer(produce),
    }
    step = {"consume": False, "produce": {**produce, "recorded": recorded}}
    control.post("scenarios", scenario("s", step))
    put(control)
    assert chat("hi", key=KEY).json()["id"] == "real"
    (answer,) = control.get("changes").json()["answers"]
    assert answer["text"] == "I am 21."
    assert "number" in [one["alteration"] for one in answer["variants"]]
    put(control, {"step": "s/1", "alteration": "number"})
    assert reply_text(chat("hi", key=KEY)) == "I am 2100."


def test_step_of_a_changed_answer_answers_after_all_if_no_other_does(control: Control) -> None:
    control.post("scenarios", scenario("s", says("one"), says("two")))
    put(control, {"answer": 2, "alteration": "refusal"})
    assert reply_text(chat("hi", key=KEY)) == "one"
    assert reply_text(chat("more", key=KEY)) != "two"
    assert reply_text(chat("Please answer.", key=KEY)) == "two"
    assert chat("and then?", key=KEY).status_code == 404
    assert answers(control) == [(1, "1", None), (2, "2", "refusal"), (3, "2", None)]


def test_step_of_a_deleted_scenario_answers_no_more(control: Control) -> None:
    control.post("scenarios", scenario("s", says("one"), says("two")))
    put(control, {"answer": 1, "alteration": "refusal"})
    chat("hi", key=KEY)
    assert reply_text(chat("more", key=KEY)) == "two"
    control.delete("scenarios/s")
    assert chat("again", key=KEY).status_code == 404


def test_answer_has_the_tool_results_of_its_request(control: Control) -> None:
    control.post("scenarios", scenario("s", says("hi", consume=False)))
    put(control)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "r" * 2_000},
    ]
    chat(messages=messages, key=KEY)
    (answer,) = control.get("changes").json()["answers"]
    assert answer["results"] == [{"text": "r" * 1_000, "is_error": False}]


def test_altered_answer_is_complete_in_the_journal(control: Control) -> None:
    control.post("scenarios", scenario("s", says("I am 21.")))
    put(control, {"answer": 1, "alteration": "number"})
    chat("hi", key=KEY)
    (entry,) = control.get("requests").json()["requests"]
    assert entry["outcome"] == "complete"
    detail = control.get(f"requests/{entry['id']}").json()
    assert detail["response"]["headers"]["x-mockllm-change"] == "number"


def test_changes_of_a_session_strike_no_other(control: Control) -> None:
    control.post("scenarios", scenario("s", says("hi", consume=False)))
    put(control, {"answer": 1, "fault": {"kind": "rate_limit"}}, session=KEY)
    assert chat("hi", key="sk-other").status_code == 200
    assert chat("hi", key=KEY).status_code == 429
    body = control.get("changes", session=KEY).json()
    assert body["changes"] == [{"answer": 1, "fault": {"kind": "rate_limit"}}]
    assert [answer["change"] for answer in body["answers"]] == ["rate_limit"]


def test_put_numbers_from_one_and_delete_ends_the_changes(control: Control) -> None:
    control.post("scenarios", scenario("s", says("hi", consume=False)))
    for _ in range(2):
        put(control, {"answer": 1, "alteration": "refusal"})
        assert reply_text(chat("hi", key=KEY)) != "hi"
        assert reply_text(chat("hi", key=KEY)) == "hi"
    ended = control.delete("changes").json()
    assert ended["active"] and len(ended["answers"]) == 2
    assert control.get("changes").json() == {
        "active": False,
        "session": None,
        "changes": [],
        "answers": [],
    }


def test_scripted_failures_come_before_numbered_answers(control: Control) -> None:
    failing = says("hi", failures={"times": 1, "fault": {"kind": "model_error"}}, consume=False)
    control.post("scenarios", scenario("s", failing))
    put(control, {"answer": 1, "alteration": "refusal"})
    assert [chat("hi", key=KEY).status_code for _ in range(2)] == [500, 200]
    assert answers(control) == [(1, "1", "refusal")]


def test_fault_inside_a_call_cuts_its_arguments(control: Control) -> None:
    calls = says("A few words first.", consume=False)
    calls["produce"]["tool_calls"] = [{"name": "pay", "arguments": {"sum": 19, "to": "Anna"}}]
    control.post("scenarios", scenario("s", calls))
    put(control, {"answer": 1, "fault": {"kind": "truncate"}, "inside": "call"})
    text = chat("hi", key=KEY, stream=True).text
    assert '"name":"pay"' in text and "Anna" not in text


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"answer": 0, "alteration": "refusal"}, "changes.0.answer"),
        ({"answer": 1}, "changes[0]"),
        ({"alteration": "refusal"}, "changes[0]"),
        ({"answer": 1, "step": "s/1", "alteration": "refusal"}, "changes[0]"),
        ({"step": "s/1", "fault": {"kind": "timeout"}}, "changes[0]"),
        ({"answer": 1, "alteration": "number", "nth": 0}, "changes.0.nth"),
        ({"answer": 1, "alteration": "refusal", "fault": {"kind": "timeout"}}, "changes[0]"),
        ({"answer": 1, "fault": {"kind": "tiemout"}}, "changes[0].fault.kind"),
        ({"answer": 1, "fault": {"kind": "http"}}, "changes[0].fault.status"),
        ({"answer": 1, "alteration": "louder"}, "changes.0.alteration"),
        ({"answer": 1, "alteration": "refusal", "inside": "head"}, "changes.0.inside"),
    ],
)
def test_wrong_change_is_refused_with_its_place(
    control: Control, change: dict[str, Any], field: str
) -> None:
    status, _, place = error_of(put(control, change))
    assert (status, place) == (400, field), json.dumps(change)
    assert not control.get("changes").json()["active"]
