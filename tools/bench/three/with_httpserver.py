"""The three tests with pytest-httpserver."""

import json

import anthropic
import openai
import program


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


def client(httpserver, **options):
    return openai.OpenAI(api_key="any", base_url=httpserver.url_for("/v1"), **options)


def chat(httpserver):
    return httpserver.expect_ordered_request("/v1/chat/completions", method="POST")


def test_a_tool_loop(httpserver):
    function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    call = {"id": "call_1", "type": "function", "function": function}
    first = completion("tool_calls", content=None, tool_calls=[call])
    chat(httpserver).respond_with_json(first)
    chat(httpserver).respond_with_json(completion("stop", content="It is mild."))
    assert program.with_tools(client(httpserver), "The weather?") == "It is mild."
    sent = json.loads(httpserver.log[-1][0].get_data())["messages"]
    assert "18 degrees" in sent[-1]["content"]
    httpserver.check()


def test_a_stream(httpserver):
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    message |= {"model": "claude-sonnet-5-5", "stop_reason": None, "stop_sequence": None}
    message |= {"usage": {"input_tokens": 1, "output_tokens": 1}}
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": text},
            }
            for text in ("Hello to ", "you, too.")
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    httpserver.expect_request("/v1/messages").respond_with_data(
        body, content_type="text/event-stream"
    )
    client = anthropic.Anthropic(api_key="any", base_url=httpserver.url_for("/"))
    assert program.streamed(client, "hello") == "Hello to you, too."


def test_a_refusal_then_an_answer(httpserver):
    refusal = {"error": {"message": "Slow down.", "type": "tokens", "code": "rate_limit_exceeded"}}
    chat(httpserver).respond_with_json(refusal, status=429, headers={"retry-after-ms": "50"})
    chat(httpserver).respond_with_json(completion("stop", content="At last."))
    assert program.again(client(httpserver, max_retries=0), "hello") == "At last."
    httpserver.check()
