"""The coverage of scenarios over a run, as clients of the control API get it."""

from typing import Any

import pytest

from scenarios_app.admin.journal.sessions import reset_session
from scenarios_app.engine.state import key_session
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from tests.control.control_client import KEY, Control, chat, error_of, says, scenario

GREETING = scenario(
    "greeting",
    says("Hi.", name="hello", match={"messages": ["Hello"]}, consume=False),
    says("Bye.", name="bye", match={"model": "gpt-4o", "messages": ["Bye"], "stream": True}),
)


@pytest.fixture
def run(control: Control) -> Control:
    assert control.delete("coverage").status_code == 204
    control.post("scenarios", GREETING)
    return control


def coverage(control: Control, **query: str) -> dict[str, Any]:
    response = control.get("coverage", **query)
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


def test_steps_that_answered_and_conditions_that_never_held(run: Control) -> None:
    chat("Hello")
    chat("Hello")
    found = coverage(run)
    del found["since"]
    stream = {"field": "match.stream", "expected": "true"}
    bye = {"field": "match.messages[0]", "expected": 'last message equals "Bye"'}
    assert found == {
        **{"requests": 2, "percent": 50.0, "steps": 2, "served": 1, "faults": 0, "triggered": 0},
        "scenarios": [
            {
                "scenario": "greeting",
                "steps": [
                    {"step": "hello", "served": 2, "never_true": [], "faults": []},
                    {"step": "bye", "served": 0, "never_true": [stream, bye], "faults": []},
                ],
            }
        ],
        "complete": True,
        "text": "coverage: 50 %, 1 of 2 steps\n"
        "never served: greeting, step bye\n"
        "  never true: match.stream: true\n"
        '  never true: match.messages[0]: last message equals "Bye"',
    }


def test_condition_that_held_once_is_not_listed(run: Control) -> None:
    chat("Bye")
    (one,) = coverage(run)["scenarios"]
    assert [never["field"] for never in one["steps"][1]["never_true"]] == ["match.stream"]


@pytest.mark.parametrize("by_admin", [False, True])
def test_coverage_outlives_journal_and_session(run: Control, by_admin: bool) -> None:
    chat("Hello")
    chat("Bye")
    if by_admin:
        reset_session(key_session(KEY), scenarios=False)
    else:
        run.post("reset", {"session": KEY})
    assert run.get("requests").json()["requests"] == []
    run.delete("requests")
    found = coverage(run)
    (one,) = found["scenarios"]
    assert one["steps"][0]["served"] == 1
    assert [never["field"] for never in one["steps"][1]["never_true"]] == ["match.stream"]
    assert (found["requests"], found["complete"]) == (2, True)


def test_coverage_beyond_the_journal_is_incomplete_for_conditions(
    run: Control,
) -> None:
    chat("Hello")
    chat("Bye")
    assert journal.flush()
    ServedRequest.objects.all().delete()
    found = coverage(run)
    assert found["served"] == 1
    assert found["complete"] is False
    assert "note: 2 requests left the journal unchecked" in found["text"]


def test_a_step_that_answers_again_and_again_is_served_beyond_the_ring(control: Control) -> None:
    control.post("scenarios", GREETING, session=KEY)
    chat("Hello")
    assert journal.flush()
    ServedRequest.objects.all().delete()
    unserved = control.get("verdict", session=KEY).json()["unserved"]
    assert [one["step"] for one in unserved] == ["bye"]
    control.post("reset", {"session": KEY})
    unserved = control.get("verdict", session=KEY).json()["unserved"]
    assert [one["step"] for one in unserved] == ["hello", "bye"]


def test_faults_that_never_struck(run: Control) -> None:
    limit, cut = {"kind": "rate_limit"}, {"kind": "truncate", "after_chunks": 1}
    run.post("scenarios", scenario("f", says("x", failures={"times": 2, "fault": limit})))
    run.put("scenarios/c", scenario("c", {"produce": {"text": "x", "fault": cut}}))
    chat("anything", headers={"x-mockllm-scenario": "f"})
    found = coverage(run, scenarios="f,c")
    assert (found["faults"], found["triggered"]) == (2, 1)
    of_c, of_f = (one["steps"][0]["faults"] for one in found["scenarios"])
    assert of_f == [{"kind": "rate_limit", "place": "failures", "triggered": True}]
    assert of_c == [{"kind": "truncate", "place": "produce", "triggered": False}]
    assert "never triggered: c, step 1: truncate (produce)" in found["text"]


def test_refused_scenario_of_a_session_leaves_the_coverage_as_it_was(run: Control) -> None:
    assert run.post("scenarios", scenario("own", says("x")), session=KEY).status_code == 201
    longer = scenario("own", says("x"), says("y"))
    assert run.post("scenarios", longer, session=KEY).status_code == 409
    assert coverage(run, scenarios="own")["steps"] == 1


def test_a_request_that_its_step_refused_covers_nothing(run: Control) -> None:
    run.put("scenarios/strict", scenario("strict", says("x", expect={"temperature": 0.5})))
    assert chat("y", headers={"x-mockllm-scenario": "strict"}).status_code == 400
    assert coverage(run, scenarios="strict")["served"] == 0


def test_a_sessions_own_scenario_is_covered_by_name_and_after_its_end(run: Control) -> None:
    run.post("scenarios", scenario("own", says("one"), says("two")), session=KEY)
    chat("anything", headers={"x-mockllm-scenario": "own"})
    run.post("reset", {"session": KEY, "scenarios": True})
    assert coverage(run)["steps"] == 2
    assert coverage(run, scenarios="own")["percent"] == 50.0
    assert coverage(run, scenarios="*")["steps"] >= 4


def test_coverage_run_can_be_reset(run: Control) -> None:
    chat("Hello")
    run.delete("coverage")
    found = coverage(run)
    assert (found["requests"], found["served"]) == (0, 0)


def test_without_scenarios_nothing_is_covered(control: Control) -> None:
    found = coverage(control)
    assert (found["percent"], found["scenarios"]) == (0.0, [])


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"scenarios": "nobody"}, (404, "NOT_FOUND", "scenarios")),
        ({"scenarios": "[3]"}, (400, "VALIDATION_ERROR", "scenarios")),
        ({"session": "x"}, (400, "VALIDATION_ERROR", "session")),
    ],
)
def test_unknown_scenarios_are_refused(
    control: Control, query: dict[str, str], error: tuple[int, str, str]
) -> None:
    assert error_of(control.get("coverage", **query)) == error
