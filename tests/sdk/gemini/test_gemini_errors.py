"""Errors as google-genai raises them: two classes, each error with its code, status and details."""

from typing import Any

import pytest
from google.genai.errors import APIError, ClientError, ServerError

from tests.live import Live
from tests.sdk.gemini.gemini_talk import GeminiTalk
from tests.sdk.gemini.test_gemini_answers import HELLO
from tests.serving.pipelines import says, scenario

STATUSES: list[tuple[int, type[APIError], str]] = [
    (400, ClientError, "INVALID_ARGUMENT"),
    (401, ClientError, "UNAUTHENTICATED"),
    (403, ClientError, "PERMISSION_DENIED"),
    (404, ClientError, "NOT_FOUND"),
    (409, ClientError, "ABORTED"),
    (429, ClientError, "RESOURCE_EXHAUSTED"),
    (500, ServerError, "INTERNAL"),
    (501, ServerError, "UNIMPLEMENTED"),
    (503, ServerError, "UNAVAILABLE"),
    (504, ServerError, "DEADLINE_EXCEEDED"),
]


def refused(live: Live, gemini: GeminiTalk, **asked: Any) -> list[APIError]:
    """The errors of a whole and of a streamed answer."""
    found = []
    for ask in (gemini.whole, gemini.stream):
        with pytest.raises(APIError) as raised:
            ask(**{**HELLO, **asked})
        found.append(raised.value)
    return found


@pytest.mark.parametrize(("status", "expected", "name"), STATUSES)
def test_a_scripted_error(
    live: Live, gemini: GeminiTalk, status: int, expected: type[APIError], name: str
) -> None:
    fault = {
        "kind": "http",
        "status": status,
        "message": "Nein – not now.",
        "headers": {"x-why": "because"},
    }
    live.load(scenario("one", {"consume": False, "produce": {"fault": fault}}))
    for error in refused(live, gemini):
        assert type(error) is expected
        assert (error.code, error.status, error.message) == (status, name, "Nein – not now.")
        assert error.response.headers["x-why"] == "because"


def test_a_script_may_name_the_status_and_the_reason(live: Live, gemini: GeminiTalk) -> None:
    fault = {"kind": "http", "status": 400, "type": "FAILED_PRECONDITION", "code": "BILLING"}
    live.load(scenario("one", {"consume": False, "produce": {"fault": fault}}))
    for error in refused(live, gemini):
        assert error.status == "FAILED_PRECONDITION"
        (detail,) = error.details["error"]["details"]
        assert (detail["@type"][-9:], detail["reason"]) == ("ErrorInfo", "BILLING")


def test_a_rate_limit_says_when_to_come_again(live: Live, gemini: GeminiTalk) -> None:
    fault = {"kind": "rate_limit", "retry_after_ms": 2500}
    live.load(scenario("one", {"consume": False, "produce": {"fault": fault}}))
    for error in refused(live, gemini):
        assert (error.code, error.status) == (429, "RESOURCE_EXHAUSTED")
        (detail,) = error.details["error"]["details"]
        retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.500s"}
        assert detail == retry
        assert error.response.headers["retry-after"] == "3"
        assert not [name for name in error.response.headers if "ratelimit" in name]


def test_no_key_is_a_permission_that_lacks(live: Live, gemini: GeminiTalk) -> None:
    gemini.given["headers"] = {"x-goog-api-key": ""}
    for error in refused(live, gemini):
        assert (error.code, error.status) == (403, "PERMISSION_DENIED")
        assert "unregistered callers" in str(error.message)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"contents": []}, "contents"),
        ({"contents": "Hello"}, "contents"),
        ({"contents": [{"role": "robot", "parts": [{"text": "x"}]}]}, "contents[0].role"),
        ({"contents": [{"parts": [{}]}]}, "contents[0].parts[0]"),
        ({"generationConfig": {"temperature": "hot"}}, "generationConfig.temperature"),
        ({"tools": [{"functionDeclarations": [{"name": 1}]}]}, "functionDeclarations[0].name"),
    ],
)
def test_a_malformed_request_names_the_place(
    live: Live, gemini: GeminiTalk, given: dict[str, Any], place: str
) -> None:
    live.load(scenario("one", says("Never.")))
    gemini.given["extra_body"] = given
    for error in refused(live, gemini):
        assert (error.code, error.status) == (400, "INVALID_ARGUMENT")
        assert place in str(error.message)
        (detail,) = error.details["error"]["details"]
        assert place in detail["fieldViolations"][0]["field"]


def test_what_no_scenario_matches_names_the_nearest(live: Live, gemini: GeminiTalk) -> None:
    live.load(scenario("greet", {"match": {"model": "gemini-9"}, "produce": {"text": "x"}}))
    for error in refused(live, gemini):
        assert (error.code, error.status) == (404, "NOT_FOUND")
        message = str(error.message)
        assert message.startswith("no_scenario_matched: ")
        assert "greet" in message and "gemini-9" in message and "gemini-2.5-flash" in message


def test_what_this_server_has_not_is_refused_as_google_does(gemini: GeminiTalk) -> None:
    with pytest.raises(ClientError, match="DELETE /v1/tunedModels/x") as raised:
        gemini.ask("delete", model="tunedModels/x")
    assert (raised.value.code, raised.value.status) == (404, "NOT_FOUND")


def test_an_unknown_model_is_not_found(live: Live, gemini: GeminiTalk) -> None:
    with pytest.raises(ClientError, match="models/gemini-none") as raised:
        gemini.ask("get", model="gemini-none")
    assert raised.value.code == 404


def test_a_body_that_is_too_large(live: Live, gemini: GeminiTalk, settings: Any) -> None:
    with pytest.raises(ClientError) as raised:
        gemini.whole(**{**HELLO, "contents": "x" * (settings.MOCKLLM_MAX_BODY_BYTES + 1)})
    assert raised.value.code == 413


def test_the_clients_own_retries(live: Live, gemini: GeminiTalk) -> None:
    """It makes none unless it is told to, and waits as long as it was told."""
    failures = {"times": 2, "fault": {"kind": "rate_limit"}}
    live.load(scenario("one", {"failures": failures, "produce": {"text": "At last."}}))
    with pytest.raises(ClientError):
        gemini.whole(**HELLO)
    gemini.given["retry_options"] = {"attempts": 3, "initial_delay": 0.0, "jitter": 0.0}
    assert gemini.whole(**HELLO).text == "At last."
    assert [(row.status, row.attempt) for row in live.requests()] == [(429, 1), (429, 2), (200, 2)]
