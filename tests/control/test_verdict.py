"""The verdict on a session and on a run, as clients of the control API get it."""

from typing import Any
from uuid import UUID

import pytest

from scenarios_app.engine.scenario import CATCH_ALL
from scenarios_app.engine.state import key_session
from scenarios_app.models import Step
from tests.control.control_client import KEY, Control, chat, error_of, reply_text, says, scenario

OTHER = "sk-of-another-test"
TWO = scenario("two", says("one", match={"messages": ["first"]}), says("two", name="last"))


def verdict(control: Control, **query: Any) -> dict[str, Any]:
    response = control.get("verdict", **query)
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


def test_a_session_whose_requests_all_found_their_steps_passes(control: Control) -> None:
    control.post("scenarios", TWO, session=KEY)
    chat("first")
    chat("then")
    found = verdict(control, session=KEY)
    assert found.pop("receipt").startswith("sha256:")
    assert found == {
        "session": key_session(KEY),
        "passed": True,
        "strict": False,
        "requests": 2,
        **{"unmatched": [], "violations": [], "unserved": [], "findings": []},
        "text": f"passed: session {key_session(KEY)}, 2 requests",
        **{"complete": True, "lost": 0},
    }


def test_a_request_that_no_step_answered_fails_it_and_names_the_nearest(control: Control) -> None:
    for name in ("a", "b", "c", "d"):
        control.post("scenarios", scenario(name, says(name, match={"messages": [f"say {name}"]})))
    refused = chat("say nothing")
    found = verdict(control, session=KEY)
    assert found["passed"] is False
    (unmatched,) = found["unmatched"]
    assert unmatched["id"] == refused.headers["x-mockllm-request"]
    assert (unmatched["path"], unmatched["fallback"]) == ("/v1/chat/completions", False)
    assert len(unmatched["near_misses"]) == 3
    assert "unmatched: /v1/chat/completions: no step answered" in found["text"]
    assert "near: a, step 1: match.messages[0] wants" in found["text"]


def test_an_answer_of_the_catch_all_counts_as_unmatched(control: Control) -> None:
    control.post("scenarios", scenario(CATCH_ALL, says("anything", consume=False), priority=-1000))
    assert chat("who answers?").status_code == 200
    (unmatched,) = verdict(control, session=KEY)["unmatched"]
    assert unmatched["fallback"] is True


def test_a_refused_request_is_no_unmatched_one(control: Control) -> None:
    assert chat(messages="no list").status_code == 400
    assert verdict(control, session=KEY)["unmatched"] == []


def test_a_violated_expectation_fails_it_and_names_the_request(control: Control) -> None:
    control.post("scenarios", scenario("strict", says("ok", expect={"temperature": 0.5})))
    refused = chat()
    found = verdict(control, session=KEY)
    assert found["passed"] is False
    assert found["violations"] == [
        {
            "text": "Expected temperature 0.5 but received undefined",
            "session": key_session(KEY),
            "request": refused.headers["x-mockllm-request"],
            "scenario": "strict",
            "step": "1",
        }
    ]


def test_a_violation_outlives_its_request(control: Control) -> None:
    control.post("scenarios", scenario("strict", says("ok", expect={"temperature": 0.5})))
    chat()
    control.delete("requests", session=KEY)
    found = verdict(control, session=KEY)
    (violation,) = found["violations"]
    assert (violation["request"], violation["scenario"]) == (None, None)
    assert (found["complete"], found["receipt"]) == (False, None)
    assert "note: the journal may lack requests" in found["text"]


def test_steps_of_own_scenarios_have_to_answer_and_common_ones_only_when_named(
    control: Control,
) -> None:
    control.post("scenarios", TWO, session=KEY)
    control.post("scenarios", scenario("common"))
    chat("first")
    own = {"scenario": "two", "step": "last", "session": key_session(KEY), "never_asked": ""}
    common = {"scenario": "common", "step": "1", "session": None, "never_asked": ""}
    found = verdict(control, session=KEY)
    assert (found["passed"], found["unserved"]) == (False, [own])
    assert "never served: two, step last" in found["text"]
    assert verdict(control, session=KEY, scenarios="common")["unserved"] == [common, own]
    assert verdict(control, session=KEY, scenarios="*")["unserved"] == [common, own]


@pytest.mark.parametrize("allowed", ["two/last", "two", "*", "other, two/last", '["two/last"]'])
def test_steps_that_are_allowed_need_not_answer(control: Control, allowed: str) -> None:
    control.post("scenarios", TWO, session=KEY)
    chat("first")
    assert verdict(control, session=KEY, allow_unserved=allowed)["passed"] is True
    assert verdict(control, session=KEY, allow_unserved="two/1")["passed"] is False


def test_a_step_that_failed_on_purpose_or_answered_long_ago_is_served(control: Control) -> None:
    control.post("scenarios", scenario("f", says("x", failures={"times": 9})), session=KEY)
    assert chat().status_code == 500
    control.delete("requests", session=KEY)
    assert verdict(control, session=KEY)["unserved"] == []


def test_a_disabled_scenario_of_a_session_wants_no_answer(control: Control) -> None:
    control.post("scenarios", {**TWO, "enabled": False}, session=KEY)
    assert verdict(control, session=KEY)["passed"] is True


def test_without_a_session_all_are_judged_together(control: Control) -> None:
    control.post("scenarios", TWO)
    chat("first", key="sk-one")
    chat("second", key="sk-two")
    assert chat("third", key="sk-two", path_says=1).status_code == 404
    found = verdict(control, scenarios="two")
    assert (found["session"], found["requests"], found["unserved"]) == (None, 3, [])
    assert [one["session"] for one in found["unmatched"]] == [key_session("sk-two")]


def test_run_without_requests_fails_if_steps_have_to_answer(control: Control) -> None:
    control.post("scenarios", TWO)
    run = verdict(control, scenarios="two")
    assert (run["passed"], run["requests"], run["session"]) == (False, 0, None)
    assert [one["step"] for one in run["unserved"]] == ["1", "last"]
    assert verdict(control)["passed"] is True


def test_the_ids_are_those_of_the_journal(control: Control) -> None:
    chat("unknown")
    (unmatched,) = verdict(control, session=KEY)["unmatched"]
    assert control.get(f"requests/{UUID(unmatched['id'])}").status_code == 200


def test_verdict_of_an_unknown_session_passes(control: Control) -> None:
    found = verdict(control, session="nobody")
    assert (found["passed"], found["requests"], found["session"]) == (True, 0, "nobody")


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"scenarios": "nobody"}, (404, "NOT_FOUND", "scenarios")),
        ({"ignore": "no-such-rule"}, (400, "VALIDATION_ERROR", "ignore")),
        ({"allow_unserved": "[1]"}, (400, "VALIDATION_ERROR", "allow_unserved")),
        ({"scenarios": '["'}, (400, "VALIDATION_ERROR", "scenarios")),
        ({"strict": "maybe"}, (400, "VALIDATION_ERROR", "strict")),
        ({"sesion": "x"}, (400, "VALIDATION_ERROR", "sesion")),
    ],
)
def test_wrong_query_of_the_verdict_is_refused(
    control: Control, query: dict[str, str], error: tuple[int, str, str]
) -> None:
    assert error_of(control.get("verdict", **query)) == error


def test_the_receipt_is_that_of_scripts_requests_and_answers(control: Control) -> None:
    def run(text: str, *more: str) -> str:
        control.post("reset", {"scenarios": True})
        control.put("scenarios/two", TWO)
        for one in (text, *more):
            chat(one)
        return str(verdict(control, session=KEY)["receipt"])

    first = run("first", "then")
    assert run("first", "then") == first
    assert run("first", "else") != first
    assert run("first") != first


def test_scenario_that_is_invalid_by_now_does_not_prevent_a_verdict(control: Control) -> None:
    control.post("scenarios", scenario("greeting", says("Hi!")))
    chat()
    Step.objects.update(answer_extra={"txet": "?"})
    body = verdict(control, session=KEY)
    assert (body["passed"], body["requests"]) == (True, 1)


def test_ending_a_session_returns_its_verdict_and_resets_it(control: Control) -> None:
    control.post("scenarios", TWO)
    own = scenario("own", says("own", match={"messages": ["never"]}))
    for key in (KEY, OTHER):
        control.put("scenarios/own", own, session=key_session(key))
        assert [reply_text(chat(text, key=key)) for text in ("first", "then")] == ["one", "two"]
    judged = verdict(control, session=KEY, allow_unserved="own")
    others = verdict(control, session=OTHER)
    assert judged["passed"] and not others["passed"]
    ended = control.post("verdict", {"session": KEY, "allow_unserved": "own", "strict": False})
    assert (ended.status_code, ended.json()) == (200, judged)
    left = verdict(control, session=KEY)
    assert (left["requests"], left["unserved"], left["passed"]) == (0, [], True)
    assert control.get("scenarios", session=KEY).json()["scenarios"] == []
    assert reply_text(chat("first")) == "one"
    assert verdict(control, session=OTHER) == others


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, (400, "VALIDATION_ERROR", "session")),
        ({"session": None}, (400, "VALIDATION_ERROR", "session")),
        ({"session": KEY, "scenarios": "nobody"}, (404, "NOT_FOUND", "scenarios")),
        ({"session": KEY, "strict": "true"}, (400, "VALIDATION_ERROR", "strict")),
    ],
)
def test_refused_end_of_a_session_resets_nothing(
    control: Control, body: dict[str, Any], error: tuple[int, str, str]
) -> None:
    chat("first")
    assert error_of(control.post("verdict", body)) == error
    assert verdict(control, session=KEY)["requests"] == 1
