"""The three tests with this project's plugin."""

import anthropic
import openai
import program


def test_a_tool_loop(mockllm):
    mockllm.on("weather").tool_call("get_weather", city="Paris")
    mockllm.on(tool_result="18 degrees").reply("It is mild.")
    assert program.with_tools(openai.OpenAI(), "The weather?") == "It is mild."


def test_a_stream(mockllm):
    mockllm.on("hello").reply("Hello to you, too.")
    assert program.streamed(anthropic.Anthropic(), "hello") == "Hello to you, too."


def test_a_refusal_then_an_answer(mockllm):
    mockllm.on("hello").fail(429, retry_after_ms=50).reply("At last.")
    assert program.again(openai.OpenAI(max_retries=0), "hello") == "At last."
