"""Two of the three tests with respx, which intercepts httpx. OpenAI's SDK takes a client of that;
Anthropic's, which is built on httpx2 as well, refuses one, so its stream is out of reach."""

import json

import httpx
import openai
import program

CHAT = "https://api.openai.com/v1/chat/completions"


def completion(finish, **message):
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1735689600,
        "model": "gpt-4o",
        "choices": [
            {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        ],
    }


def client(**options):
    return openai.OpenAI(api_key="any", http_client=httpx.Client(), **options)


def test_a_tool_loop(respx_mock):
    function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    call = {"id": "call_1", "type": "function", "function": function}
    route = respx_mock.post(CHAT)
    route.side_effect = [
        httpx.Response(200, json=completion("tool_calls", content=None, tool_calls=[call])),
        httpx.Response(200, json=completion("stop", content="It is mild.")),
    ]
    assert program.with_tools(client(), "The weather?") == "It is mild."
    sent = json.loads(route.calls.last.request.content)["messages"]
    assert "18 degrees" in sent[-1]["content"]


def test_a_refusal_then_an_answer(respx_mock):
    refusal = {"error": {"message": "Slow down.", "type": "tokens", "code": "rate_limit_exceeded"}}
    respx_mock.post(CHAT).side_effect = [
        httpx.Response(429, json=refusal, headers={"retry-after-ms": "50"}),
        httpx.Response(200, json=completion("stop", content="At last.")),
    ]
    assert program.again(client(max_retries=0), "hello") == "At last."
