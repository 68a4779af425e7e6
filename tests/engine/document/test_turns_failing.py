"""Requirement 003's failures before success, key by key: which fault each of them becomes."""

from typing import Any

import pytest

from tests.engine.turn_scripts import compiled_step, step_of

FAILURES: list[tuple[dict[str, Any], dict[str, Any]]] = [
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


@pytest.mark.parametrize(("keys", "fault"), FAILURES)
def test_simulated_failures_of_every_status(keys: dict[str, Any], fault: dict[str, Any]) -> None:
    failures = step_of(failuresBeforeSuccess=2, **keys)["failures"]
    assert failures == {"times": 2, "fault": {"kind": "model_error", **fault}}


HTTP = {"kind": "http", "status": 500, "message": "Simulated failure"}
THROWN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, HTTP),
    ({"failureMessage": "boom"}, {**HTTP, "message": "boom"}),
    ({"failureStatus": "timeout"}, HTTP),
    ({"failureError": {"message": "m"}}, {**HTTP, "message": "m"}),
    ({"failureError": {"message": {"a": 1}, "name": 5, "code": 7, "extra": [1]}}, HTTP),
    ({"failureError": {"message": "m"}, "failureMessage": "n"}, {**HTTP, "message": "n"}),
    (
        {"failureError": {"status": 429, "name": "NetworkError", "headers": {"retry-after": 3}}},
        {**HTTP, "status": 429, "headers": {"retry-after": "3"}},
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
        {**HTTP, "status": 400, "code": "c", "type": "t", "param": "p"},
    ),
    (
        {"failureError": {"name": "NetworkError", "message": "lost"}},
        {"kind": "network_error", "message": "lost"},
    ),
    (
        {"failureError": {"name": "TimeoutError", "code": "ECONNRESET"}},
        {"kind": "network_error", "message": "Simulated failure"},
    ),
    ({"failureError": {"name": "TimeoutError"}}, {**HTTP, "status": 504}),
    ({"failureError": {"code": "Timeout"}}, {**HTTP, "code": "Timeout"}),
    (
        {"failureRetryable": False, "failureRetryAfterMs": 20},
        {**HTTP, "retryable": False, "retry_after_ms": 20},
    ),
]


@pytest.mark.parametrize(("keys", "fault"), THROWN)
def test_thrown_failures_are_what_an_http_client_would_have_met(
    keys: dict[str, Any], fault: dict[str, Any]
) -> None:
    failures = step_of(failuresBeforeSuccess=1, failureThrows=True, **keys)["failures"]
    assert failures == {"times": 1, "fault": fault}


@pytest.mark.parametrize("times", [{}, {"failuresBeforeSuccess": 0}])
def test_without_a_count_nothing_fails(times: dict[str, Any]) -> None:
    assert compiled_step(failureStatus="timeout", failureThrows=True, **times).failures is None
