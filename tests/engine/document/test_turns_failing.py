"""Conversion of failures before success in turn scripts, key by key."""

from typing import Any

import pytest

from tests.engine.turn_scripts import compile_turn, convert_turn

STATUS_FAILURES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"message": "Simulated failure"}),
    ({"failureStatus": "model_error"}, {"message": "Simulated failure"}),
    ({"failureStatus": "whatever", "failureMessage": "m"}, {"message": "m"}),
    ({"failureStatus": "timeout", "failureRetryable": False}, {"kind": "timeout"}),
    (
        {"failureStatus": "network_error", "failureMessage": "m", "failureRetryAfterMs": 5},
        {"kind": "network_error", "message": "m"},
    ),
    ({"failureStatus": "invalid_response"}, {"kind": "invalid_response"}),
    (
        {"failureStatus": "rate_limit", "failureRetryAfterMs": 25, "failureRetryable": True},
        {"kind": "rate_limit", "message": "Simulated failure", "retry_after_ms": 25},
    ),
    (
        {"failureRetryable": False, "failureRetryAfterMs": 0},
        {"message": "Simulated failure", "retry_after_ms": 0, "retryable": False},
    ),
    ({"failureError": {"status": 401}}, {"message": "Simulated failure"}),
]


@pytest.mark.parametrize(("keys", "fault"), STATUS_FAILURES)
def test_failure_status_becomes_a_fault(keys: dict[str, Any], fault: dict[str, Any]) -> None:
    failures = convert_turn(failuresBeforeSuccess=2, **keys)["failures"]
    assert failures == {"times": 2, "fault": {"kind": "model_error", **fault}}


HTTP_FAULT = {"kind": "http", "status": 500, "message": "Simulated failure"}
THROWN_FAILURES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, HTTP_FAULT),
    ({"failureMessage": "boom"}, {**HTTP_FAULT, "message": "boom"}),
    ({"failureStatus": "timeout"}, HTTP_FAULT),
    ({"failureError": {"message": "m"}}, {**HTTP_FAULT, "message": "m"}),
    ({"failureError": {"message": {"a": 1}, "name": 5, "code": 7, "extra": [1]}}, HTTP_FAULT),
    ({"failureError": {"message": "m"}, "failureMessage": "n"}, {**HTTP_FAULT, "message": "n"}),
    (
        {"failureError": {"status": 429, "name": "NetworkError", "headers": {"retry-after": 3}}},
        {**HTTP_FAULT, "status": 429, "headers": {"retry-after": "3"}},
    ),
    (
        {"failureError": {"status": 401, "responseBody": '{"error": 1}', "code": "x"}},
        {"kind": "http", "status": 401, "body": '{"error": 1}'},
    ),
    (
        {"failureError": {"status": 400, "responseBody": {"error": [1]}}},
        {"kind": "http", "status": 400, "body": {"error": [1]}},
    ),
    (
        {"failureError": {"status": 400, "code": "c", "type": "t", "param": "p"}},
        {**HTTP_FAULT, "status": 400, "code": "c", "type": "t", "param": "p"},
    ),
    (
        {"failureError": {"name": "NetworkError", "message": "lost"}},
        {"kind": "network_error", "message": "lost"},
    ),
    (
        {"failureError": {"name": "TimeoutError", "code": "ECONNRESET"}},
        {"kind": "network_error", "message": "Simulated failure"},
    ),
    ({"failureError": {"name": "TimeoutError"}}, {**HTTP_FAULT, "status": 504}),
    ({"failureError": {"code": "Timeout"}}, {**HTTP_FAULT, "code": "Timeout"}),
    (
        {"failureRetryable": False, "failureRetryAfterMs": 20},
        {**HTTP_FAULT, "retryable": False, "retry_after_ms": 20},
    ),
]


@pytest.mark.parametrize(("keys", "fault"), THROWN_FAILURES)
def test_thrown_error_becomes_the_fault_that_causes_it(
    keys: dict[str, Any], fault: dict[str, Any]
) -> None:
    failures = convert_turn(failuresBeforeSuccess=1, failureThrows=True, **keys)["failures"]
    assert failures == {"times": 1, "fault": fault}


@pytest.mark.parametrize("times", [{}, {"failuresBeforeSuccess": 0}])
def test_turn_without_a_failure_count_has_no_failures(times: dict[str, Any]) -> None:
    assert compile_turn(failureStatus="timeout", failureThrows=True, **times).failures is None
