"""How a run is judged: by its end, its output, the verdict and its requests."""

from typing import Any

import pytest

from scenarios_app.engine.producing.alterations import REFUSAL
from scenarios_app.proof.outcome import Observation, first_difference, judge_run
from tests.proof.observations import TEXT, answer, cell, observed, struck

CLEAN = observed(requests=[("k", True)])


def judged(kind: str, run: Observation, clean: Observation = CLEAN) -> tuple[str, str]:
    judgement = judge_run(cell(kind), clean, run)
    return judgement.outcome, judgement.reason


def run(output: str = TEXT, **keys: Any) -> Observation:
    return observed(output, answers=[struck()], **keys)


def test_run_that_ends_as_the_clean_one_survived() -> None:
    retried = [("k", False), ("k", True)]
    assert judged("rate_limit", run(requests=retried)) == ("survived", "")


def test_run_without_the_answer_that_says_why_survived() -> None:
    outcome, reason = judged("rate_limit", run("Sorry, too many requests."))
    assert (outcome, reason) == (
        "survived",
        "without the answer; the output says why: too many requests",
    )


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("Error code: 429", "exit code 1; its output names it: 429"),
        ("it broke", "exit code 1; its output does not name the trouble"),
    ],
)
def test_run_that_fails_is_loud(output: str, reason: str) -> None:
    assert judged("rate_limit", run(output, code=1)) == ("loud", reason)


def test_sign_that_the_clean_run_shows_too_names_nothing() -> None:
    clean = observed(f"retry on 429\n{TEXT}")
    outcome, reason = judged("rate_limit", run("retry on 429", code=1), clean)
    assert (outcome, reason) == ("loud", "exit code 1; its output does not name the trouble")


def test_run_that_did_not_end_hung() -> None:
    assert judged("stall", run("", hung=True, code=143))[0] == "hung"


def test_run_that_the_trouble_did_not_strike_is_unreached() -> None:
    assert judged("stall", observed(answers=[answer()]))[0] == "unreached"


def test_good_answer_to_the_same_request_twice_is_multiplied() -> None:
    outcome, reason = judged("reset", run(code=1, requests=[("k", True), ("k", True)]))
    assert (outcome, reason) == ("multiplied", "the same request got 2 good answers: k")


def test_requests_that_the_clean_run_repeats_too_are_not_multiplied() -> None:
    clean = observed(requests=[("k", True), ("k", True)])
    assert judged("reset", run(requests=[("k", True), ("k", True)]), clean)[0] == "survived"


def test_part_of_an_answer_in_the_output_is_wrong() -> None:
    outcome, reason = judged("max_tokens", run("bot: It is 21\n degrees in\n"))
    assert (outcome, reason) == ("wrong", "shows a part of an answer: It is 21 degrees in")


def test_part_that_the_program_says_anyway_proves_nothing() -> None:
    clean = observed(f"It is 21 already\n{TEXT}")
    assert judged("max_tokens", run("It is 21 already\nIt is 2"), clean)[0] == "silent"


def test_refusal_in_the_output_is_wrong() -> None:
    assert judged("refusal", run(REFUSAL))[0] == "wrong"


def test_missing_answer_that_nothing_explains_is_silent() -> None:
    outcome, reason = judged("empty_answer", run("\n"))
    assert (outcome, reason) == ("silent", f"not in the output, and nothing says why: {TEXT}")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ({"findings": [("error", "lost")]}, "lost: m"),
        ({"unmatched": ["/v1/x"]}, "a request that no step answered: /v1/x"),
        ({"violations": ["v"]}, "violation: v"),
    ],
)
def test_new_finding_of_the_verdict_is_silent(found: Any, reason: str) -> None:
    assert judged("reset", run(**found)) == ("silent", reason)
    assert judged("reset", run(**found), observed(**found))[0] == "survived"


def test_warning_and_a_finding_that_the_trouble_itself_makes_are_no_fault_of_the_program() -> None:
    ours = [("error", "tool-not-offered"), ("warning", "usage-unread")]
    assert judged("unknown_tool", run(findings=ours))[0] == "survived"


def answered_call(text: str, *, is_error: bool = False) -> Observation:
    """A run in which the result of a struck call was sent."""
    results = [{"text": text, "is_error": is_error}]
    return observed(answers=[struck(calls=["f"]), answer(2, results=results)])


@pytest.mark.parametrize("kind", ["broken_arguments", "unknown_tool"])
def test_good_result_of_a_call_that_cannot_be_run_is_silent(kind: str) -> None:
    expected = ("silent", "the result of this call names no error: sunny")
    assert judged(kind, answered_call("sunny")) == expected
    assert judged("call_twice", answered_call("sunny"))[0] == "survived"


@pytest.mark.parametrize(
    "run",
    [
        answered_call("error: unknown tool"),
        answered_call("city must be given"),
        answered_call("no", is_error=True),
        observed(answers=[struck(calls=["f"])]),
        observed(answers=[struck(), answer(2), answer(3, results=[{"text": "sunny"}])]),
    ],
    ids=["error", "what must be", "marked", "no later answer", "other request"],
)
def test_error_of_a_call_that_cannot_be_run_is_no_finding(run: Observation) -> None:
    assert judged("broken_arguments", run) == ("survived", "")


def test_request_that_is_sent_again_brings_no_result_of_its_answer() -> None:
    results = [{"text": "sunny", "is_error": False}]
    again = observed(answers=[struck(results=results), answer(2, results=results)])
    assert judged("broken_arguments", again) == ("survived", "")


def test_answer_that_the_clean_run_does_not_show_need_not_be_shown() -> None:
    assert judged("reset", run("done"), observed("done"))[0] == "survived"


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (observed(), ""),
        (observed(code=1), "exit code 0, then 1"),
        (
            observed(answers=[answer(), answer(2)]),
            f"answer 2 of session a: no answer, then s/2: {TEXT}",
        ),
        (
            observed(answers=[answer(stream=True, calls=["f"])]),
            f"answer 1 of session a: s/1: {TEXT}, then s/1 streamed: {TEXT} calls f",
        ),
    ],
)
def test_difference_of_two_runs_is_the_first_one(other: Observation, difference: str) -> None:
    assert first_difference(observed(), other) == difference
