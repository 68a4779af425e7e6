"""Runs of failures are noted as undecided, since a loop and parallel clients look alike.

An overlap does not hide a loop at another time.
"""

import pytest
from msgspec.structs import replace

from scenarios_app.verdict.judge import VerdictOptions, judge
from scenarios_app.verdict.reports import verdict_text
from scenarios_app.verdict.session import Finding, JudgedExchange, JudgedSession
from tests.verdict.test_retries import LIMIT, call, exchange, rate_limited, with_attempt_number


def findings(*exchanges: JudgedExchange) -> list[Finding]:
    ordered = tuple(sorted(exchanges, key=lambda request: request.at))
    return list(judge(JudgedSession("s", ordered)).findings)


def rules(*exchanges: JudgedExchange) -> list[tuple[str, str]]:
    return [(finding.rule, finding.request) for finding in findings(*exchanges)]


def burst(start: float, status: int, times: int = 3) -> list[JudgedExchange]:
    """Return requests 10 ms apart that all get this status."""
    return [exchange(start + number / 100, status) for number in range(times)]


@pytest.mark.parametrize(
    ("failures", "rule"),
    [
        (burst(0, 500), "no-back-off"),
        ([rate_limited(0), rate_limited(0.01)], "retry-after-ignored"),
        (burst(0, 401), "retried-unretryable"),
        ([*call(0, 500), *call(0.01, 500), *call(0.02, 500)], "no-back-off"),
        ([*call(0, 500, 500), *call(0.51, 500, 500), *call(1.02, 500, 500)], "no-back-off"),
    ],
    ids=["no pause", "requested wait", "unretryable", "single attempts", "several attempts"],
)
def test_run_that_fails_to_its_end_is_noted_and_passes(
    failures: list[JudgedExchange], rule: str
) -> None:
    session = JudgedSession("s", tuple(failures))
    verdict = judge(session, VerdictOptions(strict=True))
    (note,) = verdict.findings
    assert (note.rule, note.level) == ("retries-undecided", "note")
    assert note.requests == (failures[0].uid, failures[-1].uid)
    assert f"{len(failures)} identical requests failed one after another within " in note.message
    assert f" {rule} if one client sent them" in note.message
    assert verdict.passed


def test_note_is_one_whole_line_of_the_text() -> None:
    session = JudgedSession("s", tuple(burst(0, 401, times=12)))
    assert verdict_text(judge(session)).splitlines() == [
        "passed: session s, 12 requests, 1 note",
        "note: retries-undecided: 12 identical requests failed one after another within 110 ms: "
        "retried-unretryable if one client sent them, not if parallel ones did; give each its own "
        "session (API key) to tell [at-0.11]",
    ]


def test_run_that_one_client_may_send_is_not_noted() -> None:
    # The second waited as requested, and gave up.
    assert rules(rate_limited(0), rate_limited(1.1)) == []
    # Two calls in a row can be intended.
    assert rules(*burst(0, 500, times=2)) == []
    assert rules(*burst(0, 401, times=1)) == []


def test_parallel_clients_that_wait_and_then_succeed_are_not_noted() -> None:
    wait = {"response_headers": {"retry-after": "20"}}
    failures = [exchange(at, 429, **wait) for at in (0, 0.01, 0.02)]
    assert rules(*failures, *burst(20.1, 200)) == []
    assert rules(*burst(0, 500), *burst(0.5, 500), *burst(20, 200, times=6)) == []


def test_answer_that_a_client_left_does_not_end_a_loop() -> None:
    failures = burst(0, 500, times=2)
    assert rules(*failures, exchange(0.02)) == [("no-back-off", "at-0.02")]
    left = exchange(0.02, outcome="client_gone")
    assert rules(*failures, left) == [("retries-undecided", "at-0.02")]


def test_failures_far_apart_are_the_retries_of_one_client() -> None:
    failures = [exchange(at, 401) for at in (0, 15, 30)]
    assert rules(*failures) == [("retried-unretryable", "at-15"), ("retried-unretryable", "at-30")]
    wait = {"response_headers": {"retry-after": "30"}}
    assert rules(*(exchange(at, 429, **wait) for at in (0, 15))) == [
        ("retry-after-ignored", "at-15")
    ]


def test_undecided_run_does_not_hide_a_loop_at_another_time() -> None:
    loop = [*burst(60, 500, times=2), exchange(60.02)]
    assert rules(*burst(0, 401), *loop, *burst(90, 500)) == [
        ("retries-undecided", "at-0.02"),
        ("no-back-off", "at-60.02"),
        ("retries-undecided", "at-90.02"),
    ]


@pytest.mark.parametrize("start", [0, 120])
def test_overlap_does_not_hide_a_loop_at_another_time(start: float) -> None:
    overlapping = [exchange(start, 500), exchange(start + 0.001, 500)]
    loop = [*burst(60, 500, times=2), exchange(60.02)]
    assert rules(*overlapping, *loop) == [("no-back-off", "at-60.02")]
    assert rules(*overlapping, *burst(60, 401)) == [("retries-undecided", "at-60.02")]


@pytest.mark.parametrize("start", [0, 120])
def test_overlap_of_numbered_calls_does_not_hide_a_loop_at_another_time(start: float) -> None:
    overlapping = [*call(start, 500, 500), *call(start + 0.001, 500, 500)]
    calls = [*call(60, 500, 500), *call(60.51, 500, 500), *call(61.02, 500, 200)]
    assert rules(*overlapping, *calls) == [("no-back-off", "at-61.02")]


def test_second_client_does_not_hide_a_loop_at_another_time() -> None:
    other = [
        replace(request, request_headers={**request.request_headers, "user-agent": "other"})
        for request in call(0, 500)
    ]
    calls = [*call(60, 500), *call(60.01, 500), *call(60.02, 200)]
    assert rules(*other, *calls) == [("no-back-off", "at-60.02")]


def test_overlap_hides_what_is_near_it() -> None:
    loop = [*burst(9, 500, times=2), exchange(9.02)]
    assert rules(exchange(0, 500), exchange(0.001, 500), *loop) == []
    # A burst lasts until the slowest of its requests ends.
    slow = exchange(0, 500, duration_ms=55_000.0)
    assert rules(slow, exchange(30, 500), *burst(60, 500, times=2), exchange(60.02)) == []


def test_call_that_waits_long_between_its_attempts_is_not_split() -> None:
    wait = {"response_headers": {"retry-after": "20"}}
    attempts = [
        with_attempt_number(exchange(at, 429, **wait), number)
        for at, number in ((0, 0), (20, 1), (20.01, 0), (40.02, 1))
    ]
    last = with_attempt_number(exchange(40.03), 0)
    assert rules(*attempts, last) == [
        ("retry-after-ignored", "at-20.01"),
        ("retry-after-ignored", "at-40.03"),
    ]


def test_loop_that_waits_too_short_and_succeeds_is_reported() -> None:
    fields = {"response_headers": LIMIT}
    assert rules(exchange(0, 429, **fields), exchange(0.5)) == [("retry-after-ignored", "at-0.5")]
