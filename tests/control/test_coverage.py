"""The coverage of scenarios over a run, as clients of the control API get it."""

from typing import Any

import pytest

from scenarios_app.admin.journal.sessions import reset_session
from scenarios_app.engine.state import key_session
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from tests.control.control_client import KEY, Control, chat, error_of, scenario, text_step

GREETING = scenario(
    "greeting",
    text_step("Hi.", name="hello", match={"messages": ["Hello"]}, consume=False),
    text_step("Bye.", name="bye", match={"model": "gpt-4o", "messages": ["Bye"], "stream": True}),
)


@pytest.fixture
def coverage_run(control: Control) -> Control:
    assert control.delete("coverage").status_code == 204
    control.post("scenarios", GREETING)
    return control


def get_coverage(control: Control, **query: str) -> dict[str, Any]:
    response = control.get("coverage", **query)
    assert response.status_code == 200, response.content
    report: dict[str, Any] = response.json()
    return report


def test_coverage_lists_served_steps_and_conditions_that_were_never_true(
    coverage_run: Control,
) -> None:
    chat("Hello")
    chat("Hello")
    report = get_coverage(coverage_run)
    del report["since"]
    stream = {"field": "match.stream", "expected": "true"}
    untrue_condition = {"field": "match.messages[0]", "expected": 'last message equals "Bye"'}
    assert report == {
        **{"requests": 2, "percent": 50.0, "steps": 2, "served": 1, "faults": 0, "triggered": 0},
        "scenarios": [
            {
                "scenario": "greeting",
                "steps": [
                    {"step": "hello", "served": 2, "never_true": [], "faults": []},
                    {
                        "step": "bye",
                        "served": 0,
                        "never_true": [stream, untrue_condition],
                        "faults": [],
                    },
                ],
            }
        ],
        "complete": True,
        "text": "coverage: 50 %, 1 of 2 steps\n"
        "never served: greeting, step bye\n"
        "  never true: match.stream: true\n"
        '  never true: match.messages[0]: last message equals "Bye"',
    }


def test_condition_that_was_true_once_is_not_listed(coverage_run: Control) -> None:
    chat("Bye")
    (scenario_coverage,) = get_coverage(coverage_run)["scenarios"]
    assert [condition["field"] for condition in scenario_coverage["steps"][1]["never_true"]] == [
        "match.stream"
    ]


@pytest.mark.parametrize("by_admin", [False, True])
def test_coverage_outlives_journal_and_session(coverage_run: Control, by_admin: bool) -> None:
    chat("Hello")
    chat("Bye")
    if by_admin:
        reset_session(key_session(KEY), scenarios=False)
    else:
        coverage_run.post("reset", {"session": KEY})
    assert coverage_run.get("requests").json()["requests"] == []
    coverage_run.delete("requests")
    report = get_coverage(coverage_run)
    (scenario_coverage,) = report["scenarios"]
    assert scenario_coverage["steps"][0]["served"] == 1
    assert [condition["field"] for condition in scenario_coverage["steps"][1]["never_true"]] == [
        "match.stream"
    ]
    assert (report["requests"], report["complete"]) == (2, True)


def test_coverage_beyond_the_journal_is_incomplete_for_conditions(
    coverage_run: Control,
) -> None:
    chat("Hello")
    chat("Bye")
    assert journal.flush()
    ServedRequest.objects.all().delete()
    report = get_coverage(coverage_run)
    assert report["served"] == 1
    assert report["complete"] is False
    assert "note: 2 requests left the journal unchecked" in report["text"]


def test_step_is_counted_as_served_beyond_the_ring_of_a_session(control: Control) -> None:
    control.post("scenarios", GREETING, session=KEY)
    chat("Hello")
    assert journal.flush()
    ServedRequest.objects.all().delete()
    unserved = control.get("verdict", session=KEY).json()["unserved"]
    assert [step["step"] for step in unserved] == ["bye"]
    control.post("reset", {"session": KEY})
    unserved = control.get("verdict", session=KEY).json()["unserved"]
    assert [step["step"] for step in unserved] == ["hello", "bye"]


def test_coverage_counts_faults_that_never_struck(coverage_run: Control) -> None:
    rate_limit_fault, truncate_fault = (
        {"kind": "rate_limit"},
        {"kind": "truncate", "after_chunks": 1},
    )
    coverage_run.post(
        "scenarios", scenario("f", text_step("x", failures={"times": 2, "fault": rate_limit_fault}))
    )
    coverage_run.put(
        "scenarios/c", scenario("c", {"produce": {"text": "x", "fault": truncate_fault}})
    )
    chat("anything", headers={"x-mockllm-scenario": "f"})
    report = get_coverage(coverage_run, scenarios="f,c")
    assert (report["faults"], report["triggered"]) == (2, 1)
    faults_of_c, faults_of_f = (
        scenario_coverage["steps"][0]["faults"] for scenario_coverage in report["scenarios"]
    )
    assert faults_of_f == [{"kind": "rate_limit", "place": "failures", "triggered": True}]
    assert faults_of_c == [{"kind": "truncate", "place": "produce", "triggered": False}]
    assert "never triggered: c, step 1: truncate (produce)" in report["text"]


def test_rejected_private_scenario_leaves_the_coverage_unchanged(coverage_run: Control) -> None:
    assert (
        coverage_run.post("scenarios", scenario("own", text_step("x")), session=KEY).status_code
        == 201
    )
    longer = scenario("own", text_step("x"), text_step("y"))
    assert coverage_run.post("scenarios", longer, session=KEY).status_code == 409
    assert get_coverage(coverage_run, scenarios="own")["steps"] == 1


def test_request_that_its_step_rejects_covers_nothing(coverage_run: Control) -> None:
    coverage_run.put(
        "scenarios/strict", scenario("strict", text_step("x", expect={"temperature": 0.5}))
    )
    assert chat("y", headers={"x-mockllm-scenario": "strict"}).status_code == 400
    assert get_coverage(coverage_run, scenarios="strict")["served"] == 0


def test_private_scenario_is_covered_by_name_and_after_reset(coverage_run: Control) -> None:
    coverage_run.post("scenarios", scenario("own", text_step("one"), text_step("two")), session=KEY)
    chat("anything", headers={"x-mockllm-scenario": "own"})
    coverage_run.post("reset", {"session": KEY, "scenarios": True})
    assert get_coverage(coverage_run)["steps"] == 2
    assert get_coverage(coverage_run, scenarios="own")["percent"] == 50.0
    assert get_coverage(coverage_run, scenarios="*")["steps"] >= 4


def test_coverage_run_can_be_reset(coverage_run: Control) -> None:
    chat("Hello")
    coverage_run.delete("coverage")
    report = get_coverage(coverage_run)
    assert (report["requests"], report["served"]) == (0, 0)


def test_without_scenarios_nothing_is_covered(control: Control) -> None:
    report = get_coverage(control)
    assert (report["percent"], report["scenarios"]) == (0.0, [])


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
