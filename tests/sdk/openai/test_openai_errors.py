"""What only OpenAI's client tells of errors: expectations, its key, paths and methods."""

import httpx2
import openai
import pytest

from tests.sdk.openai.openai_talk import HELLO, OpenAITalk
from tests.serving.pipelines import scenario
from tests.support.live_server import Live


def test_no_key_is_an_authentication_error(live: Live, chat: OpenAITalk) -> None:
    with pytest.raises(openai.AuthenticationError) as raised:
        chat.whole(**HELLO, extra_headers={"Authorization": openai.Omit()})
    assert raised.value.code == "invalid_api_key"


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
