"""Errors that only OpenAI's client has: expectations, missing keys, paths and methods."""

import httpx2
import openai
import pytest

from tests.sdk.openai.openai_chat_client import HELLO, OpenAIChatClient
from tests.serving.pipelines import scenario
from tests.support.live_server import Live


def test_no_key_is_an_authentication_error(live: Live, chat: OpenAIChatClient) -> None:
    with pytest.raises(openai.AuthenticationError) as raised:
        chat.create(**HELLO, extra_headers={"Authorization": openai.Omit()})
    assert raised.value.code == "invalid_api_key"


def test_a_violated_expectation_is_a_bad_request_that_names_it(
    live: Live, chat: OpenAIChatClient
) -> None:
    strict = {"expect": {"tools": ["get_weather"]}, "produce": {"text": "x"}}
    live.load(scenario("strict", strict))
    for send in (chat.stream, chat.create):
        with pytest.raises(openai.BadRequestError) as raised:
            send(**HELLO)
        assert raised.value.code == "expectation_violated"
        reason = "Expected tools not available: get_weather (none is offered)"
        assert isinstance(raised.value.body, dict) and reason in raised.value.body["message"]
    violation = "Expected tools not available: get_weather"
    assert live.state().violations == (violation, violation)
    assert [request.violations for request in live.requests()] == [[violation]] * 2


def test_an_unknown_path_and_method(live: Live, chat: OpenAIChatClient) -> None:
    with openai.OpenAI(**chat.options) as client:
        with pytest.raises(openai.NotFoundError) as path_error:
            client.post("/nothing", body={}, cast_to=httpx2.Response)
        assert path_error.value.code == "unknown_url"
        with pytest.raises(openai.APIStatusError) as method_error:
            client.put("/chat/completions", body={}, cast_to=httpx2.Response)
        assert method_error.value.status_code == 405
        assert isinstance(method_error.value.body, dict) and method_error.value.body["message"]
