"""Response headers in the clients: the provider's and those of the mock."""

from urllib.parse import unquote
from uuid import UUID

import openai

from tests.sdk.anthropic.anthropic_client import HELLO as ANTHROPIC_HELLO
from tests.sdk.anthropic.anthropic_client import AnthropicClient
from tests.sdk.openai.openai_chat_client import HELLO, OpenAIChatClient
from tests.serving.pipelines import scenario, text_step
from tests.support.live_server import Live


def test_openais_raw_response(live: Live, chat: OpenAIChatClient) -> None:
    live.load(scenario("grüß dich/ä", text_step("Hi!", name="sag hallo & mehr")))
    raw = chat.raw(**HELLO)
    answer = raw.parse()
    assert answer.choices[0].message.content == "Hi!"
    headers = raw.headers
    assert answer._request_id == raw.request_id == headers["x-request-id"]
    assert headers["openai-version"] and headers["openai-processing-ms"]
    for limit in ("requests", "tokens"):
        assert int(headers[f"x-ratelimit-limit-{limit}"]) > 0
        assert int(headers[f"x-ratelimit-remaining-{limit}"]) > 0
        assert headers[f"x-ratelimit-reset-{limit}"]
    assert unquote(headers["x-mockllm-scenario"]) == "grüß dich/ä"
    assert unquote(headers["x-mockllm-step"]) == "sag hallo & mehr"
    (row,) = live.requests()
    assert row.uid == UUID(headers["x-mockllm-request"])


def test_anthropics_raw_response(live: Live, either_claude: AnthropicClient) -> None:
    live.load(scenario("greet", text_step("Hi!")))
    raw, message = either_claude.raw(**ANTHROPIC_HELLO)
    assert message.content[0].text == "Hi!"
    headers = raw.headers
    assert message._request_id == headers["request-id"]
    assert "x-request-id" not in headers
    for limit in ("requests", "tokens", "input-tokens", "output-tokens"):
        for value_name in ("limit", "remaining", "reset"):
            assert headers[f"anthropic-ratelimit-{limit}-{value_name}"]
    assert (headers["x-mockllm-scenario"], headers["x-mockllm-step"]) == ("greet", "1")


def test_stream_has_response_headers(live: Live, chat: OpenAIChatClient) -> None:
    live.load(scenario("greet", text_step("Hi!")))
    with openai.OpenAI(**chat.options) as client:
        completions = client.chat.completions.with_streaming_response
        with completions.create(**HELLO, stream=True) as response:
            headers = response.headers
            lines = list(response.iter_lines())
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["cache-control"] == "no-cache"
    assert "content-length" not in headers
    assert headers["x-mockllm-scenario"] == "greet" and headers["x-request-id"]
    assert [line for line in lines if line][-1] == "data: [DONE]"


def test_side_effects_show(live: Live, chat: OpenAIChatClient) -> None:
    effects = {
        "counter": "greetings",
        "status": 201,
        "headers": {"x-extra": "1"},
        "echo_headers": ["x-trace"],
    }
    live.load(scenario("greet", text_step("Hi!", side_effects=effects)))
    raw = chat.raw(**HELLO, extra_headers={"X-Trace": "t-7"})
    assert raw.http_response.status_code == 201
    assert (raw.headers["x-extra"], raw.headers["x-trace"]) == ("1", "t-7")
    assert live.state().counters == {"greetings": 1}


def test_openais_models(live: Live, chat: OpenAIChatClient) -> None:
    live.load(scenario("named", {**text_step("Hi!"), "match": {"model": "my/own model"}}))
    models = {model.id: model for model in chat.models()}
    assert models["gpt-4o"].owned_by == "openai"
    assert models["my/own model"].owned_by == "mockllm"
    assert chat.model("my/own model") == models["my/own model"]
    try:
        chat.model("gpt-nothing")
    except openai.NotFoundError as error:
        assert error.code == "model_not_found"
    else:
        raise AssertionError("an unknown model was found")
