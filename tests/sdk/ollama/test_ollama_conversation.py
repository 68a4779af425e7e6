"""Requests that only Ollama's client sends: functions as tools, and prompts."""

from typing import Any

import pytest

from tests.sdk.ollama.ollama_client import HELLO, OllamaClient, OllamaStream, calls_of
from tests.sdk.paris import paris_scenario
from tests.support.live_server import Live


def get_weather(city: str) -> str:
    """Tells the weather.

    Args:
        city: where
    """
    return "18 degrees, sunny"


def get_time(city: str) -> str:
    """Tells the time.

    Args:
        city: where
    """
    return "21:40"


@pytest.mark.parametrize("streamed", [False, True])
def test_functions_are_tools(live: Live, llama: OllamaClient, streamed: bool) -> None:
    live.load(paris_scenario("ollama"))
    request: dict[str, Any] = {**HELLO, "tools": [get_weather, get_time]}
    send = llama.stream if streamed else llama.create
    answer = send(**request, options={"temperature": 0.2})
    calls = answer.calls if isinstance(answer, OllamaStream) else calls_of(answer.message)
    assert calls == [("get_weather", {"city": "Paris"}), ("get_time", {"city": "Paris"})]
    assert live.state().violations == ()


def test_an_instruction_block_is_obeyed(live: Live, llama: OllamaClient) -> None:
    block = (
        '<|instruction_start|>{"messages": [{"text": "One. "},'
        ' {"tool_call": [{"name": "f", "args": {"a": 1}}]}, {"text": "Two."}]}<|instruction_end|>'
    )
    messages = [{"role": "user", "content": block}]
    message = llama.create(model="llama3.2", messages=messages).message
    assert (message.content, calls_of(message)) == ("One. Two.", [("f", {"a": 1})])
    generated = llama.stream("generate", model="llama3.2", prompt=block)
    assert "".join(line.response for line in generated.lines) == "One. Two."
