"""`/control/changes` breaks or alters single answers by their number in a session."""

import json
from typing import Any

import pytest

from scenarios_app.engine.document.recorded import digest_of_answer
from tests.control.control_client import Control, chat, error_of, reply_text, scenario, text_step

KEY = "sk-changes"


@pytest.fixture(autouse=True)
def _delete_changes(control: Control) -> Any:
    yield
    control.delete("changes")


def put_changes(control: Control, *changes: dict[str, Any], session: str | None = None) -> Any:
    return control.put("changes", {"session": session, "changes": list(changes)})


def list_answers(control: Control) -> list[tuple[int, str, str | None]]:
    body = control.get("changes").json()
    return [(answer["number"], answer["step"], answer["change"]) for answer in body["answers"]]


def test_change_strikes_its_answer_and_a_retry_gets_the_step(control: Control) -> None:
    control.post("scenarios", scenario("s", text_step("one"), text_step("two")))
    fault = {"kind": "http", "status": 529, "message": "busy"}
    assert put_changes(control, {"answer": 1, "fault": fault}).status_code == 200
    first = chat("hi", key=KEY)
    assert (first.status_code, first.headers["x-mockllm-change"]) == (529, "http")
    assert [reply_text(chat("hi", key=KEY)) for _ in range(2)] == ["one", "two"]
    assert list_answers(control) == [(1, "1", "http"), (2, "1", None), (3, "2", None)]


def test_next_other_request_consumes_the_step_of_an_altered_answer(control: Control) -> None:
    control.post("scenarios", scenario("s", text_step("I am 21."), text_step("two")))
    put_changes(control, {"answer": 1, "alteration": "number"})
    altered = chat("hi", key=KEY)
    assert reply_text(altered) == "I am 2100."
    assert altered.headers["x-mockllm-change"] == "number"
    assert reply_text(chat("and now?", key=KEY)) == "two"
    assert "x-mockllm-change" not in chat("and now?", key=KEY).headers


def test_changed_step_is_altered_whenever_it_answers_and_is_consumed(control: Control) -> None:
    steps = (
        text_step("1 of 2.", equivalent_changes={"name": "none here"}),
        text_step("1 of 3.", name="x"),
    )
    control.post("scenarios", scenario("s", *steps))
    put_changes(control, {"step": "s/1", "alteration": "number", "nth": 2})
    first, second = chat("hi", key=KEY), chat("hi", key=KEY)
    assert [reply_text(first), reply_text(second)] == ["1 of 200.", "1 of 3."]
    assert first.headers["x-mockllm-change"] == "number"
    body = control.get("changes").json()
    assert body["changes"] == [{"step": "s/1", "alteration": "number", "nth": 2}]
    first_answer, second_answer = body["answers"]
    assert (first_answer["before"], first_answer["after"]) == ("2", "200")
    assert first_answer["equivalent_changes"] == {"name": "none here"}
    assert {"alteration": "number", "nth": 1, "before": "1", "after": "100"} in first_answer[
        "variants"
    ]
    assert (
        second_answer["change"],
        second_answer["before"],
        second_answer["equivalent_changes"],
    ) == (None, "", {})


def test_changed_step_is_altered_even_if_recorded(control: Control) -> None:
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
    put_changes(control)
    assert chat("hi", key=KEY).json()["id"] == "real"
    (answer,) = control.get("changes").json()["answers"]
    assert answer["text"] == "I am 21."
    assert "number" in [variant["alteration"] for variant in answer["variants"]]
    put_changes(control, {"step": "s/1", "alteration": "number"})
    assert reply_text(chat("hi", key=KEY)) == "I am 2100."


def test_step_of_a_changed_answer_matches_if_no_other_step_does(control: Control) -> None:
    control.post("scenarios", scenario("s", text_step("one"), text_step("two")))
    put_changes(control, {"answer": 2, "alteration": "refusal"})
    assert reply_text(chat("hi", key=KEY)) == "one"
    assert reply_text(chat("more", key=KEY)) != "two"
    assert reply_text(chat("Please answer.", key=KEY)) == "two"
    assert chat("and then?", key=KEY).status_code == 404
    assert list_answers(control) == [(1, "1", None), (2, "2", "refusal"), (3, "2", None)]


def test_step_of_a_deleted_scenario_does_not_match(control: Control) -> None:
    control.post("scenarios", scenario("s", text_step("one"), text_step("two")))
    put_changes(control, {"answer": 1, "alteration": "refusal"})
    chat("hi", key=KEY)
    assert reply_text(chat("more", key=KEY)) == "two"
    control.delete("scenarios/s")
    assert chat("again", key=KEY).status_code == 404


def test_answer_has_the_tool_results_of_its_request(control: Control) -> None:
    control.post("scenarios", scenario("s", text_step("hi", consume=False)))
    put_changes(control)
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
    control.post("scenarios", scenario("s", text_step("I am 21.")))
    put_changes(control, {"answer": 1, "alteration": "number"})
    chat("hi", key=KEY)
    (entry,) = control.get("requests").json()["requests"]
    assert entry["outcome"] == "complete"
    detail = control.get(f"requests/{entry['id']}").json()
    assert detail["response"]["headers"]["x-mockllm-change"] == "number"


def test_changes_of_a_session_strike_no_other(control: Control) -> None:
    control.post("scenarios", scenario("s", text_step("hi", consume=False)))
    put_changes(control, {"answer": 1, "fault": {"kind": "rate_limit"}}, session=KEY)
    assert chat("hi", key="sk-other").status_code == 200
    assert chat("hi", key=KEY).status_code == 429
    body = control.get("changes", session=KEY).json()
    assert body["changes"] == [{"answer": 1, "fault": {"kind": "rate_limit"}}]
    assert [answer["change"] for answer in body["answers"]] == ["rate_limit"]


def test_put_numbers_from_one_and_delete_ends_the_changes(control: Control) -> None:
    control.post("scenarios", scenario("s", text_step("hi", consume=False)))
    for _ in range(2):
        put_changes(control, {"answer": 1, "alteration": "refusal"})
        assert reply_text(chat("hi", key=KEY)) != "hi"
        assert reply_text(chat("hi", key=KEY)) == "hi"
    deleted_changes = control.delete("changes").json()
    assert deleted_changes["active"] and len(deleted_changes["answers"]) == 2
    assert control.get("changes").json() == {
        "active": False,
        "session": None,
        "changes": [],
        "answers": [],
    }


def test_scripted_failures_come_before_numbered_answers(control: Control) -> None:
    failing = text_step(
        "hi", failures={"times": 1, "fault": {"kind": "model_error"}}, consume=False
    )
    control.post("scenarios", scenario("s", failing))
    put_changes(control, {"answer": 1, "alteration": "refusal"})
    assert [chat("hi", key=KEY).status_code for _ in range(2)] == [500, 200]
    assert list_answers(control) == [(1, "1", "refusal")]


def test_fault_inside_a_call_cuts_its_arguments(control: Control) -> None:
    calls = text_step("A few words first.", consume=False)
    calls["produce"]["tool_calls"] = [{"name": "pay", "arguments": {"sum": 19, "to": "Anna"}}]
    control.post("scenarios", scenario("s", calls))
    put_changes(control, {"answer": 1, "fault": {"kind": "truncate"}, "inside": "call"})
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
def test_invalid_change_is_rejected_with_its_field(
    control: Control, change: dict[str, Any], field: str
) -> None:
    status, _, error_field = error_of(put_changes(control, change))
    assert (status, error_field) == (400, field), json.dumps(change)
    assert not control.get("changes").json()["active"]
