"""What only google-genai tells of errors: their details, and what Google refuses otherwise."""

from typing import Any

import pytest
from google.genai.errors import APIError, ClientError

from tests.sdk.gemini.gemini_talk import HELLO, GeminiTalk
from tests.sdk.scripted import load_fault
from tests.serving.pipelines import scenario
from tests.support.live_server import Live


def refused(live: Live, gemini: GeminiTalk, **asked: Any) -> list[APIError]:
    """The errors of a whole and of a streamed answer."""
    found = []
    for ask in (gemini.whole, gemini.stream):
        with pytest.raises(APIError) as raised:
            ask(**{**HELLO, **asked})
        found.append(raised.value)
    return found


def test_a_script_may_name_the_status_and_the_reason(live: Live, gemini: GeminiTalk) -> None:
    load_fault(live, "http", status=400, type="FAILED_PRECONDITION", code="BILLING")
    for error in refused(live, gemini):
        assert error.status == "FAILED_PRECONDITION"
        (detail,) = error.details["error"]["details"]
        assert (detail["@type"][-9:], detail["reason"]) == ("ErrorInfo", "BILLING")


def test_a_rate_limit_says_in_its_details_when_to_come_again(
    live: Live, gemini: GeminiTalk
) -> None:
    load_fault(live, "rate_limit", retry_after_ms=2500)
    for error in refused(live, gemini):
        assert (error.code, error.status) == (429, "RESOURCE_EXHAUSTED")
        (detail,) = error.details["error"]["details"]
        retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.500s"}
        assert detail == retry


def test_a_truncated_stream_tells_what_was_used_so_far(live: Live, gemini: GeminiTalk) -> None:
    load_fault(live, "truncate")
    usages = [chunk.usage_metadata for chunk in gemini.stream(**HELLO).chunks]
    assert [usage.candidates_token_count for usage in usages if usage] == [1, 2]


def test_no_key_is_a_permission_that_lacks(live: Live, gemini: GeminiTalk) -> None:
    gemini.given["headers"] = {"x-goog-api-key": ""}
    for error in refused(live, gemini):
        assert (error.code, error.status) == (403, "PERMISSION_DENIED")
        assert "unregistered callers" in str(error.message)


def test_unsupported_google_endpoint_raises_in_its_client(gemini: GeminiTalk) -> None:
    with pytest.raises(ClientError, match="DELETE /v1/tunedModels/x") as raised:
        gemini.ask("delete", model="tunedModels/x")
    assert (raised.value.code, raised.value.status) == (404, "NOT_FOUND")


def test_an_unknown_model_is_not_found(live: Live, gemini: GeminiTalk) -> None:
    with pytest.raises(ClientError, match="models/gemini-none") as raised:
        gemini.ask("get", model="gemini-none")
    assert raised.value.code == 404


def test_the_clients_own_retries(live: Live, gemini: GeminiTalk) -> None:
    """It makes none unless it is told to, and waits as long as it was told."""
    failures = {"times": 2, "fault": {"kind": "rate_limit"}}
    live.load(scenario("one", {"failures": failures, "produce": {"text": "At last."}}))
    with pytest.raises(ClientError):
        gemini.whole(**HELLO)
    gemini.given["retry_options"] = {"attempts": 3, "initial_delay": 0.0, "jitter": 0.0}
    assert gemini.whole(**HELLO).text == "At last."
    assert [(row.status, row.attempt) for row in live.requests()] == [(429, 1), (429, 2), (200, 2)]
