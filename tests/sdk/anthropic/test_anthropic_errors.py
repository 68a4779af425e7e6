"""Errors as Anthropic's client raises them: each status its exception, each with what it says."""

from typing import Any

import anthropic
import pytest

from tests.live import Live
from tests.sdk.anthropic.anthropic_talk import AnthropicTalk
from tests.sdk.anthropic.test_anthropic_answers import HELLO
from tests.serving.pipelines import says, scenario

STATUSES: list[tuple[int, type[anthropic.APIStatusError], str]] = [
    (400, anthropic.BadRequestError, "invalid_request_error"),
    (401, anthropic.AuthenticationError, "authentication_error"),
    (403, anthropic.PermissionDeniedError, "permission_error"),
    (404, anthropic.NotFoundError, "not_found_error"),
    (409, anthropic.ConflictError, "conflict_error"),
    (422, anthropic.UnprocessableEntityError, "invalid_request_error"),
    (429, anthropic.RateLimitError, "rate_limit_error"),
    (500, anthropic.InternalServerError, "api_error"),
    (503, anthropic.ServiceUnavailableError, "overloaded_error"),
    (529, anthropic.OverloadedError, "overloaded_error"),
]


@pytest.mark.parametrize(("status", "expected", "kind"), STATUSES)
def test_a_scripted_error(
    live: Live,
    claude: AnthropicTalk,
    status: int,
    expected: type[anthropic.APIStatusError],
    kind: str,
) -> None:
    fault = {
        "kind": "http",
        "status": status,
        "message": "Nein – not now.",
        "headers": {"x-why": "because"},
    }
    live.load(scenario("one", {"consume": False, "produce": {"fault": fault}}))
    for ask in (claude.whole, claude.stream):
        with pytest.raises(anthropic.APIStatusError) as raised:
            ask(**HELLO)
        error = raised.value
        assert type(error) is expected and error.status_code == status
        assert isinstance(error.body, dict)
        assert error.body["error"] == {"type": kind, "message": "Nein – not now."}
        assert error.request_id is not None and error.request_id.startswith("req_")
        assert error.body["request_id"] == error.request_id
        assert error.response.headers["x-why"] == "because"


def test_a_rate_limit_has_its_headers(live: Live, claude: AnthropicTalk) -> None:
    fault = {"kind": "rate_limit", "retry_after_ms": 2500}
    live.load(scenario("one", {"produce": {"fault": fault}}))
    with pytest.raises(anthropic.RateLimitError) as raised:
        claude.whole(**HELLO)
    headers = raised.value.response.headers
    assert headers["retry-after"] == "3"
    assert headers["anthropic-ratelimit-requests-remaining"] == "0"
    assert not [name for name in headers if name.startswith("x-ratelimit")]


def test_no_key_is_an_authentication_error(live: Live, claude: AnthropicTalk) -> None:
    with pytest.raises(anthropic.AuthenticationError):
        claude.whole(**HELLO, extra_headers={"Authorization": anthropic.Omit()})


def test_no_version_is_a_bad_request(live: Live, claude: AnthropicTalk) -> None:
    with pytest.raises(anthropic.BadRequestError, match="anthropic-version"):
        claude.whole(**HELLO, extra_headers={"anthropic-version": anthropic.Omit()})


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "Hello"}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"model": 7}, "model"),
        ({"max_tokens": None}, "max_tokens"),
        ({"temperature": "hot"}, "temperature"),
        ({"tools": [{"name": 1}]}, "tools[0].name"),
        ({"stream": "yes"}, "stream"),
    ],
)
def test_a_malformed_request_names_the_place(
    live: Live, claude: AnthropicTalk, given: dict[str, Any], place: str
) -> None:
    live.load(scenario("one", says("Never.")))
    with pytest.raises(anthropic.BadRequestError) as raised:
        claude.whole(**HELLO, extra_body=given)
    assert isinstance(raised.value.body, dict)
    assert raised.value.body["error"]["type"] == "invalid_request_error"
    assert place in raised.value.body["error"]["message"]


def test_what_no_scenario_matches_names_the_nearest(
    live: Live, either_claude: AnthropicTalk
) -> None:
    live.load(scenario("greet", {"match": {"model": "claude-9"}, "produce": {"text": "x"}}))
    with pytest.raises(anthropic.NotFoundError) as raised:
        either_claude.stream(**HELLO)
    assert isinstance(raised.value.body, dict)
    message = raised.value.body["error"]["message"]
    assert message.startswith("no_scenario_matched: ")
    assert "greet" in message and "claude-9" in message and "claude-sonnet-5-5" in message


def test_a_body_that_is_too_large(live: Live, claude: AnthropicTalk, settings: Any) -> None:
    text = "x" * (settings.MOCKLLM_MAX_BODY_BYTES + 1)
    messages = [{"role": "user", "content": text}]
    with pytest.raises(anthropic.ContentTooLargeError) as raised:
        claude.whole(model="claude-sonnet-5-5", max_tokens=9, messages=messages)
    assert isinstance(raised.value.body, dict)
    assert raised.value.body["error"]["type"] == "request_too_large"
