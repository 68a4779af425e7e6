"""Errors of google-genai: their details, and statuses that differ from other providers'."""

from typing import Any

import pytest
from google.genai.errors import APIError, ClientError

from tests.sdk.gemini.gemini_client import HELLO, GeminiClient
from tests.sdk.scripted import load_fault
from tests.serving.pipelines import scenario
from tests.support.live_server import Live


def collect_errors(live: Live, gemini: GeminiClient, **params: Any) -> list[APIError]:
    """Return the errors of a request without a stream and of one with a stream."""
    errors = []
    for send in (gemini.create, gemini.stream):
        with pytest.raises(APIError) as raised:
            send(**{**HELLO, **params})
        errors.append(raised.value)
    return errors


def test_a_script_may_name_the_status_and_the_reason(live: Live, gemini: GeminiClient) -> None:
    load_fault(live, "http", status=400, type="FAILED_PRECONDITION", code="BILLING")
    for error in collect_errors(live, gemini):
        assert error.status == "FAILED_PRECONDITION"
        (detail,) = error.details["error"]["details"]
        assert (detail["@type"][-9:], detail["reason"]) == ("ErrorInfo", "BILLING")


def test_rate_limit_details_have_the_retry_delay(live: Live, gemini: GeminiClient) -> None:
    load_fault(live, "rate_limit", retry_after_ms=2500)
    for error in collect_errors(live, gemini):
        assert (error.code, error.status) == (429, "RESOURCE_EXHAUSTED")
        (detail,) = error.details["error"]["details"]
        retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.500s"}
        assert detail == retry


def test_truncated_stream_reports_usage_so_far(live: Live, gemini: GeminiClient) -> None:
    load_fault(live, "truncate")
    usages = [chunk.usage_metadata for chunk in gemini.stream(**HELLO).chunks]
    assert [usage.candidates_token_count for usage in usages if usage] == [1, 2]


def test_missing_key_raises_permission_denied(live: Live, gemini: GeminiClient) -> None:
    gemini.options["headers"] = {"x-goog-api-key": ""}
    for error in collect_errors(live, gemini):
        assert (error.code, error.status) == (403, "PERMISSION_DENIED")
        assert "unregistered callers" in str(error.message)


def test_unsupported_google_endpoint_raises_in_its_client(gemini: GeminiClient) -> None:
    with pytest.raises(ClientError, match="DELETE /v1/tunedModels/x") as raised:
        gemini.ask("delete", model="tunedModels/x")
    assert (raised.value.code, raised.value.status) == (404, "NOT_FOUND")


def test_an_unknown_model_is_not_found(live: Live, gemini: GeminiClient) -> None:
    with pytest.raises(ClientError, match="models/gemini-none") as raised:
        gemini.ask("get", model="gemini-none")
    assert raised.value.code == 404


def test_client_retries_only_with_retry_options(live: Live, gemini: GeminiClient) -> None:
    """The client retries only with `retry_options`, after the delay that they set."""
    failures = {"times": 2, "fault": {"kind": "rate_limit"}}
    live.load(scenario("one", {"failures": failures, "produce": {"text": "At last."}}))
    with pytest.raises(ClientError):
        gemini.create(**HELLO)
    gemini.options["retry_options"] = {"attempts": 3, "initial_delay": 0.0, "jitter": 0.0}
    assert gemini.create(**HELLO).text == "At last."
    assert [(row.status, row.attempt) for row in live.requests()] == [(429, 1), (429, 2), (200, 2)]
