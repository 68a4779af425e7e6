"""Errors as OpenAI's client raises them: each status its exception, each with all that it says."""

from typing import Any

import httpx2
import openai
import pytest

from tests.live import Live
from tests.sdk.openai.openai_talk import OpenAITalk
from tests.sdk.openai.test_openai_answers import HELLO
from tests.serving.pipelines import says, scenario

STATUSES: list[tuple[int, type[openai.APIStatusError]]] = [
    (400, openai.BadRequestError),
    (401, openai.AuthenticationError),
    (403, openai.PermissionDeniedError),
    (404, openai.NotFoundError),
    (409, openai.ConflictError),
    (422, openai.UnprocessableEntityError),
    (429, openai.RateLimitError),
    (500, openai.InternalServerError),
    (503, openai.InternalServerError),
]


@pytest.mark.parametrize(("status", "expected"), STATUSES)
def test_a_scripted_error(
    live: Live, chat: OpenAITalk, status: int, expected: type[openai.APIStatusError]
) -> None:
    fault = {
        "kind": "http",
        "status": status,
        "message": "Nein – not now.",
        "type": "odd_type",
        "code": "odd_code",
        "param": "messages",
        "headers": {"x-why": "because"},
    }
    live.load(scenario("one", {"consume": False, "produce": {"fault": fault}}))
    for ask in (chat.whole, chat.stream):
        with pytest.raises(openai.APIStatusError) as raised:
            ask(**HELLO)
        error = raised.value
        assert type(error) is expected and error.status_code == status
        assert (error.type, error.code, error.param) == ("odd_type", "odd_code", "messages")
        assert isinstance(error.body, dict) and error.body["message"] == "Nein – not now."
        assert error.response.headers["x-why"] == "because"
        assert error.request_id is not None and error.request_id.startswith("req_")
    assert [row.outcome for row in live.requests()] == ["fault", "fault"]


@pytest.mark.parametrize("kind", ["rate_limit", "model_error"])
def test_an_error_by_its_kind(live: Live, chat: OpenAITalk, kind: str) -> None:
    live.load(scenario("one", {"consume": False, "produce": {"fault": {"kind": kind}}}))
    with pytest.raises(openai.APIStatusError) as raised:
        chat.whole(**HELLO)
    error = raised.value
    if kind == "rate_limit":
        assert isinstance(error, openai.RateLimitError)
        assert error.response.headers["retry-after"] == "1"
        assert error.response.headers["x-ratelimit-remaining-requests"] == "0"
        assert error.code == "rate_limit_exceeded"
    else:
        assert isinstance(error, openai.InternalServerError) and error.type == "server_error"


def test_no_key_is_an_authentication_error(live: Live, chat: OpenAITalk) -> None:
    with pytest.raises(openai.AuthenticationError) as raised:
        chat.whole(**HELLO, extra_headers={"Authorization": openai.Omit()})
    assert raised.value.code == "invalid_api_key"


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "Hello"}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"model": 7}, "model"),
        ({"temperature": "hot"}, "temperature"),
        ({"n": 0}, "n"),
        ({"tools": [{"type": "function"}]}, "tools[0].function"),
        ({"stream": "yes"}, "stream"),
    ],
)
def test_a_malformed_request_names_the_place(
    live: Live, chat: OpenAITalk, given: dict[str, Any], param: str
) -> None:
    live.load(scenario("one", says("Never.")))
    with pytest.raises(openai.BadRequestError) as raised:
        chat.whole(**HELLO, extra_body=given)
    assert raised.value.param == param
    assert raised.value.type == "invalid_request_error"


def test_what_no_scenario_matches_names_the_nearest(live: Live, chat: OpenAITalk) -> None:
    live.load(scenario("greet", {"match": {"model": "gpt-5"}, "produce": {"text": "x"}}))
    with pytest.raises(openai.NotFoundError) as raised:
        chat.stream(**HELLO)
    assert raised.value.code == "no_scenario_matched"
    assert isinstance(raised.value.body, dict)
    message = raised.value.body["message"]
    assert message.startswith("no_scenario_matched: ")
    assert "greet" in message and "gpt-5" in message and "gpt-4o" in message


def test_a_violated_expectation_is_a_bad_request_that_names_it(
    live: Live, chat: OpenAITalk
) -> None:
    strict = {"expect": {"tools": ["get_weather"]}, "produce": {"text": "x"}}
    live.load(scenario("strict", strict))
    for ask in (chat.stream, chat.whole):
        with pytest.raises(openai.BadRequestError) as raised:
            ask(**HELLO)
        assert raised.value.code == "expectation_violated"
        told = "Expected tools not available: get_weather (none is offered)"
        assert isinstance(raised.value.body, dict) and told in raised.value.body["message"]
    violation = "Expected tools not available: get_weather"
    assert live.state().violations == (violation, violation)
    assert [request.violations for request in live.requests()] == [[violation]] * 2


def test_an_unknown_path_and_method(live: Live, chat: OpenAITalk) -> None:
    with openai.OpenAI(**chat.given) as client:
        with pytest.raises(openai.NotFoundError) as missing:
            client.post("/nothing", body={}, cast_to=httpx2.Response)
        assert missing.value.code == "unknown_url"
        with pytest.raises(openai.APIStatusError) as refused:
            client.put("/chat/completions", body={}, cast_to=httpx2.Response)
        assert refused.value.status_code == 405
        assert isinstance(refused.value.body, dict) and refused.value.body["message"]


def test_a_body_that_is_too_large(live: Live, chat: OpenAITalk, settings: Any) -> None:
    text = "x" * (settings.MOCKLLM_MAX_BODY_BYTES + 1)
    messages = [{"role": "user", "content": text}]
    with pytest.raises(openai.APIStatusError) as raised:
        chat.whole(model="gpt-4o", messages=messages)
    assert raised.value.status_code == 413
    assert isinstance(raised.value.body, dict) and raised.value.body["message"]
    live.load(scenario("one", says("Still here.")))
    assert chat.whole(**HELLO).choices[0].message.content == "Still here."
