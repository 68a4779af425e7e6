"""The judgement of a run by its end, its output, the verdict and its requests."""

from typing import Any

import pytest

from scenarios_app.engine.producing.alterations import REFUSAL
from scenarios_app.proof.outcome import Observation, first_difference, judge_run
from tests.proof.observations import TEXT, answer, cell, changed_answer, make_observation

CLEAN = make_observation(requests=[("k", True)])


def judge_cell(kind: str, run: Observation, clean: Observation = CLEAN) -> tuple[str, str]:
    judgement = judge_run(cell(kind), clean, run)
    return judgement.outcome, judgement.reason


def run(output: str = TEXT, **keys: Any) -> Observation:
    return make_observation(output, answers=[changed_answer()], **keys)


def test_run_that_ends_as_the_clean_one_survived() -> None:
    retried = [("k", False), ("k", True)]
    assert judge_cell("rate_limit", run(requests=retried)) == ("survived", "")


def test_run_without_the_answer_that_says_why_survived() -> None:
    outcome, reason = judge_cell("rate_limit", run("Sorry, too many requests."))
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
    assert judge_cell("rate_limit", run(output, code=1)) == ("loud", reason)


def test_sign_that_the_clean_run_shows_too_names_nothing() -> None:
    clean = make_observation(f"retry on 429\n{TEXT}")
    outcome, reason = judge_cell("rate_limit", run("retry on 429", code=1), clean)
    assert (outcome, reason) == ("loud", "exit code 1; its output does not name the trouble")


def test_run_that_did_not_end_hung() -> None:
    assert judge_cell("stall", run("", hung=True, code=143))[0] == "hung"


def test_run_that_the_trouble_did_not_strike_is_unreached() -> None:
    assert judge_cell("stall", make_observation(answers=[answer()]))[0] == "unreached"


def test_good_answer_to_the_same_request_twice_is_multiplied() -> None:
    outcome, reason = judge_cell("reset", run(code=1, requests=[("k", True), ("k", True)]))
    assert (outcome, reason) == ("multiplied", "the same request got 2 good answers: k")


def test_requests_that_the_clean_run_repeats_too_are_not_multiplied() -> None:
    clean = make_observation(requests=[("k", True), ("k", True)])
    assert judge_cell("reset", run(requests=[("k", True), ("k", True)]), clean)[0] == "survived"


def test_part_of_an_answer_in_the_output_is_wrong() -> None:
    outcome, reason = judge_cell("max_tokens", run("bot: It is 21\n degrees in\n"))
    assert (outcome, reason) == ("wrong", "shows a part of an answer: It is 21 degrees in")


def test_text_that_the_clean_run_also_prints_does_not_count() -> None:
    clean = make_observation(f"It is 21 already\n{TEXT}")
    assert judge_cell("max_tokens", run("It is 21 already\nIt is 2"), clean)[0] == "silent"


def test_refusal_in_the_output_is_wrong() -> None:
    assert judge_cell("refusal", run(REFUSAL))[0] == "wrong"


def test_missing_answer_that_nothing_explains_is_silent() -> None:
    outcome, reason = judge_cell("empty_answer", run("\n"))
    assert (outcome, reason) == ("silent", f"not in the output, and nothing says why: {TEXT}")


@pytest.mark.parametrize(
    ("verdict_parts", "reason"),
    [
        ({"findings": [("error", "lost")]}, "lost: m"),
        ({"unmatched": ["/v1/x"]}, "a request that no step answered: /v1/x"),
        ({"violations": ["v"]}, "violation: v"),
    ],
)
def test_new_finding_of_the_verdict_is_silent(verdict_parts: Any, reason: str) -> None:
    assert judge_cell("reset", run(**verdict_parts)) == ("silent", reason)
    assert (
        judge_cell("reset", run(**verdict_parts), make_observation(**verdict_parts))[0]
        == "survived"
    )


def test_warnings_and_findings_caused_by_the_fault_do_not_count() -> None:
    findings = [("error", "tool-not-offered"), ("warning", "usage-unread")]
    assert judge_cell("unknown_tool", run(findings=findings))[0] == "survived"


def answered_call(text: str, *, is_error: bool = False) -> Observation:
    """Return a run in which the program sent a result of a changed call."""
    results = [{"text": text, "is_error": is_error}]
    return make_observation(answers=[changed_answer(calls=["f"]), answer(2, results=results)])


@pytest.mark.parametrize("kind", ["broken_arguments", "unknown_tool"])
def test_good_result_of_a_call_that_cannot_be_run_is_silent(kind: str) -> None:
    expected = ("silent", "the result of this call names no error: sunny")
    assert judge_cell(kind, answered_call("sunny")) == expected
    assert judge_cell("call_twice", answered_call("sunny"))[0] == "survived"


@pytest.mark.parametrize(
    "run",
    [
        answered_call("error: unknown tool"),
        answered_call("city must be given"),
        answered_call("no", is_error=True),
        make_observation(answers=[changed_answer(calls=["f"])]),
        make_observation(
            answers=[changed_answer(), answer(2), answer(3, results=[{"text": "sunny"}])]
        ),
    ],
    ids=["error", "what must be", "marked", "no later answer", "other request"],
)
def test_error_of_a_call_that_cannot_be_run_is_no_finding(run: Observation) -> None:
    assert judge_cell("broken_arguments", run) == ("survived", "")


def test_request_that_is_sent_again_brings_no_result_of_its_answer() -> None:
    results = [{"text": "sunny", "is_error": False}]
    resent_run = make_observation(
        answers=[changed_answer(results=results), answer(2, results=results)]
    )
    assert judge_cell("broken_arguments", resent_run) == ("survived", "")


def test_answer_that_the_clean_run_does_not_show_need_not_be_shown() -> None:
    assert judge_cell("reset", run("done"), make_observation("done"))[0] == "survived"


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (make_observation(), ""),
        (make_observation(code=1), "exit code 0, then 1"),
        (
            make_observation(answers=[answer(), answer(2)]),
            f"answer 2 of session a: no answer, then s/2: {TEXT}",
        ),
        (
            make_observation(answers=[answer(stream=True, calls=["f"])]),
            f"answer 1 of session a: s/1: {TEXT}, then s/1 streamed: {TEXT} calls f",
        ),
    ],
)
def test_difference_of_two_runs_is_the_first_one(other: Observation, difference: str) -> None:
    assert first_difference(make_observation(), other) == difference
