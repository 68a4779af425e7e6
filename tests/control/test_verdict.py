"""The verdict on a session and on a run, as clients of the control API get it."""

from typing import Any
from uuid import UUID

import pytest

from scenarios_app.engine.scenario import CATCH_ALL
from scenarios_app.engine.state import key_session
from scenarios_app.models import Step
from tests.control.control_client import (
    KEY,
    Control,
    chat,
    error_of,
    reply_text,
    scenario,
    text_step,
)

OTHER = "sk-of-another-test"
TWO = scenario(
    "two", text_step("one", match={"messages": ["first"]}), text_step("two", name="last")
)


def get_verdict(control: Control, **query: Any) -> dict[str, Any]:
    response = control.get("verdict", **query)
    assert response.status_code == 200, response.content
    verdict: dict[str, Any] = response.json()
    return verdict


def test_session_passes_if_every_request_matches(control: Control) -> None:
    control.post("scenarios", TWO, session=KEY)
    chat("first")
    chat("then")
    verdict = get_verdict(control, session=KEY)
    assert verdict.pop("receipt").startswith("sha256:")
    assert verdict == {
        "session": key_session(KEY),
        "passed": True,
        "strict": False,
        "requests": 2,
        **{"unmatched": [], "violations": [], "unserved": [], "findings": []},
        "text": f"passed: session {key_session(KEY)}, 2 requests",
        **{"complete": True, "lost": 0},
    }


def test_unmatched_request_fails_and_names_the_nearest_step(control: Control) -> None:
    for name in ("a", "b", "c", "d"):
        control.post(
            "scenarios", scenario(name, text_step(name, match={"messages": [f"say {name}"]}))
        )
    response = chat("say nothing")
    verdict = get_verdict(control, session=KEY)
    assert verdict["passed"] is False
    (unmatched,) = verdict["unmatched"]
    assert unmatched["id"] == response.headers["x-mockllm-request"]
    assert (unmatched["path"], unmatched["fallback"]) == ("/v1/chat/completions", False)
    assert len(unmatched["near_misses"]) == 3
    assert "unmatched: /v1/chat/completions: no step answered" in verdict["text"]
    assert "near: a, step 1: match.messages[0]: expected" in verdict["text"]


def test_an_answer_of_the_catch_all_counts_as_unmatched(control: Control) -> None:
    control.post(
        "scenarios", scenario(CATCH_ALL, text_step("anything", consume=False), priority=-1000)
    )
    assert chat("who answers?").status_code == 200
    (unmatched,) = get_verdict(control, session=KEY)["unmatched"]
    assert unmatched["fallback"] is True


def test_rejected_request_is_not_unmatched(control: Control) -> None:
    assert chat(messages="no list").status_code == 400
    assert get_verdict(control, session=KEY)["unmatched"] == []


def test_violation_fails_and_names_the_request(control: Control) -> None:
    control.post("scenarios", scenario("strict", text_step("ok", expect={"temperature": 0.5})))
    response = chat()
    verdict = get_verdict(control, session=KEY)
    assert verdict["passed"] is False
    assert verdict["violations"] == [
        {
            "text": "Expected temperature 0.5 but received undefined",
            "session": key_session(KEY),
            "request": response.headers["x-mockllm-request"],
            "scenario": "strict",
            "step": "1",
        }
    ]


def test_violation_remains_after_its_request_is_deleted(control: Control) -> None:
    control.post("scenarios", scenario("strict", text_step("ok", expect={"temperature": 0.5})))
    chat()
    control.delete("requests", session=KEY)
    verdict = get_verdict(control, session=KEY)
    (violation,) = verdict["violations"]
    assert (violation["request"], violation["scenario"]) == (None, None)
    assert (verdict["complete"], verdict["receipt"]) == (False, None)
    assert "note: the journal may lack requests" in verdict["text"]


def test_private_steps_must_be_served_and_common_ones_only_if_named(
    control: Control,
) -> None:
    control.post("scenarios", TWO, session=KEY)
    control.post("scenarios", scenario("common"))
    chat("first")
    private_step = {
        "scenario": "two",
        "step": "last",
        "session": key_session(KEY),
        "never_asked": "",
    }
    common_step = {"scenario": "common", "step": "1", "session": None, "never_asked": ""}
    verdict = get_verdict(control, session=KEY)
    assert (verdict["passed"], verdict["unserved"]) == (False, [private_step])
    assert "never served: two, step last" in verdict["text"]
    assert get_verdict(control, session=KEY, scenarios="common")["unserved"] == [
        common_step,
        private_step,
    ]
    assert get_verdict(control, session=KEY, scenarios="*")["unserved"] == [
        common_step,
        private_step,
    ]


@pytest.mark.parametrize("allowed", ["two/last", "two", "*", "other, two/last", '["two/last"]'])
def test_unserved_steps_can_be_allowed(control: Control, allowed: str) -> None:
    control.post("scenarios", TWO, session=KEY)
    chat("first")
    assert get_verdict(control, session=KEY, allow_unserved=allowed)["passed"] is True
    assert get_verdict(control, session=KEY, allow_unserved="two/1")["passed"] is False


def test_step_with_scripted_failure_and_deleted_request_is_served(control: Control) -> None:
    control.post("scenarios", scenario("f", text_step("x", failures={"times": 9})), session=KEY)
    assert chat().status_code == 500
    control.delete("requests", session=KEY)
    assert get_verdict(control, session=KEY)["unserved"] == []


def test_disabled_private_scenario_need_not_be_served(control: Control) -> None:
    control.post("scenarios", {**TWO, "enabled": False}, session=KEY)
    assert get_verdict(control, session=KEY)["passed"] is True


def test_verdict_without_session_covers_all_sessions(control: Control) -> None:
    control.post("scenarios", TWO)
    chat("first", key="sk-one")
    chat("second", key="sk-two")
    assert chat("third", key="sk-two", path_says=1).status_code == 404
    verdict = get_verdict(control, scenarios="two")
    assert (verdict["session"], verdict["requests"], verdict["unserved"]) == (None, 3, [])
    assert [request["session"] for request in verdict["unmatched"]] == [key_session("sk-two")]


def test_run_without_requests_fails_if_steps_have_to_answer(control: Control) -> None:
    control.post("scenarios", TWO)
    verdict = get_verdict(control, scenarios="two")
    assert (verdict["passed"], verdict["requests"], verdict["session"]) == (False, 0, None)
    assert [step["step"] for step in verdict["unserved"]] == ["1", "last"]
    assert get_verdict(control)["passed"] is True


def test_ids_of_unmatched_requests_are_journal_ids(control: Control) -> None:
    chat("unknown")
    (unmatched,) = get_verdict(control, session=KEY)["unmatched"]
    assert control.get(f"requests/{UUID(unmatched['id'])}").status_code == 200


def test_verdict_of_an_unknown_session_passes(control: Control) -> None:
    verdict = get_verdict(control, session="nobody")
    assert (verdict["passed"], verdict["requests"], verdict["session"]) == (True, 0, "nobody")


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


def test_receipt_is_repeatable_and_depends_on_the_requests(control: Control) -> None:
    def receipt_of(text: str, *more_texts: str) -> str:
        control.post("reset", {"scenarios": True})
        control.put("scenarios/two", TWO)
        for message in (text, *more_texts):
            chat(message)
        return str(get_verdict(control, session=KEY)["receipt"])

    first_receipt = receipt_of("first", "then")
    assert receipt_of("first", "then") == first_receipt
    assert receipt_of("first", "else") != first_receipt
    assert receipt_of("first") != first_receipt


def test_scenario_that_is_invalid_by_now_does_not_prevent_a_verdict(control: Control) -> None:
    control.post("scenarios", scenario("greeting", text_step("Hi!")))
    chat()
    Step.objects.update(document={"produce": {"txet": "?"}})
    body = get_verdict(control, session=KEY)
    assert (body["passed"], body["requests"]) == (True, 1)


def test_ending_a_session_returns_its_verdict_and_resets_it(control: Control) -> None:
    control.post("scenarios", TWO)
    private_scenario = scenario("own", text_step("own", match={"messages": ["never"]}))
    for key in (KEY, OTHER):
        control.put("scenarios/own", private_scenario, session=key_session(key))
        assert [reply_text(chat(text, key=key)) for text in ("first", "then")] == ["one", "two"]
    verdict = get_verdict(control, session=KEY, allow_unserved="own")
    other_verdict = get_verdict(control, session=OTHER)
    assert verdict["passed"] and not other_verdict["passed"]
    response = control.post("verdict", {"session": KEY, "allow_unserved": "own", "strict": False})
    assert (response.status_code, response.json()) == (200, verdict)
    verdict_after_reset = get_verdict(control, session=KEY)
    assert (
        verdict_after_reset["requests"],
        verdict_after_reset["unserved"],
        verdict_after_reset["passed"],
    ) == (0, [], True)
    assert control.get("scenarios", session=KEY).json()["scenarios"] == []
    assert reply_text(chat("first")) == "one"
    assert get_verdict(control, session=OTHER) == other_verdict


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
    assert get_verdict(control, session=KEY)["requests"] == 1
