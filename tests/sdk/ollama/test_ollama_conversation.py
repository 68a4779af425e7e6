"""Conversations of several turns over Ollama's client: tools called, results sent back."""

from typing import Any

import pytest

from tests.engine.turn_scripts import examples
from tests.live import Live
from tests.sdk.ollama.ollama_talk import OllamaTalk, calls_of
from tests.serving.pipelines import scenario

ASKED = {"role": "user", "content": "How is Paris tonight?"}
RESULTS = {"get_weather": "18 degrees, sunny", "get_time": "21:40"}


def get_weather(city: str) -> str:
    """Tells the weather.

    Args:
        city: where
    """
    return RESULTS["get_weather"]


def get_time(city: str) -> str:
    """Tells the time.

    Args:
        city: where
    """
    return RESULTS["get_time"]


BOTH = scenario(
    "paris",
    {
        "name": "ask for both",
        "turn": 1,
        "match": {"provider": "ollama", "tools": ["get_weather", "get_time"]},
        "expect": {"tools": ["get_weather", "get_time"], "temperature": 0.2},
        "produce": {
            "reasoning": "Two things to find out.",
            "text": "Let me look.",
            "tool_calls": [
                {"name": "get_weather", "arguments": {"city": "Paris"}},
                {"name": "get_time", "arguments": {"city": "Paris"}},
            ],
        },
    },
    {
        "name": "tell",
        "turn": 2,
        "match": {
            "tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}],
            "tool_results": [
                {"name": "get_weather", "contains": "sunny"},
                {"name": "get_time", "equals": "21:40"},
            ],
        },
        "produce": {"text": "It is a sunny evening."},
    },
)


@pytest.mark.parametrize("named", [True, False], ids=["named", "in order"])
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_conversation_with_two_tools(
    live: Live, llama: OllamaTalk, way: str, named: bool
) -> None:
    live.load(BOTH)
    messages: list[Any] = [ASKED]

    def say() -> tuple[str, list[tuple[str, Any]]]:
        asked = {
            "model": "llama3.2",
            "messages": messages,
            "tools": [get_weather, get_time],
            "options": {"temperature": 0.2},
        }
        if way == "whole":
            message = llama.whole(**asked).message
            messages.append(message)
            return message.content, calls_of(message)
        seen = llama.stream(**asked)
        messages.extend(message for message in seen.messages if message.tool_calls)
        return seen.text, seen.calls

    text, calls = say()
    assert text == "Let me look."
    assert calls == [("get_weather", {"city": "Paris"}), ("get_time", {"city": "Paris"})]
    # A stream's calls come in messages of their own; a client joins them to one.
    if way == "streamed":
        joined = [call for message in messages[1:] for call in message.tool_calls]
        messages[1:] = [{"role": "assistant", "content": text, "tool_calls": joined}]
    for name, _ in calls:
        result = {"role": "tool", "content": RESULTS[name]}
        messages.append({**result, "tool_name": name} if named else result)
    assert say() == ("It is a sunny evening.", [])
    assert [row.step for row in live.requests()] == ["ask for both", "tell"]
    assert live.state().violations == ()


def test_two_keys_are_two_conversations(live: Live, llama: OllamaTalk) -> None:
    live.load(BOTH)
    asked: dict[str, Any] = {"model": "m", "messages": [ASKED], "tools": [get_weather, get_time]}
    for key in ("one", "two"):
        llama.given["headers"] = {"Authorization": f"Bearer {live.key}{key}"}
        assert len(calls_of(llama.whole(**asked, options={"temperature": 0.2}).message)) == 2


@pytest.mark.parametrize("model", ["llama3.2", "test-llm/llama3.2"])
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_an_agents_run_of_three_turns(live: Live, llama: OllamaTalk, way: str, model: str) -> None:
    live.load(*examples())
    names = ("read_metrics", "read_logs", "agent__task_status", "agent__final_report")
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    messages: list[Any] = [
        {"role": "system", "content": "You are on call. Be brief."},
        {"role": "user", "content": "investigate-outage"},
    ]
    told: list[tuple[str, list[tuple[str, Any]]]] = []
    for _ in range(3):
        asked = {"model": model, "messages": messages, "tools": tools}
        if way == "whole":
            message = llama.whole(**asked).message
            text, calls = message.content or "", calls_of(message)
        else:
            seen = llama.stream(**asked)
            text, calls = seen.text, seen.calls
        told.append((text, calls))
        made = [{"function": {"name": name, "arguments": args}} for name, args in calls]
        messages.append({"role": "assistant", "content": text, "tool_calls": made})
        messages += [{"role": "tool", "tool_name": name, "content": "ok"} for name, _ in calls]
    first, second, third = told
    assert first[0] == "I will look at the service first.Its logs may say more."
    assert [name for name, _ in first[1]] == ["read_metrics", "read_logs"]
    assert second[1] and third[0] == "Here is what I found."
    ((name, report),) = third[1]
    assert (name, report["status"]) == ("agent__final_report", "success")
    assert live.state().violations == ()
    assert [row.way for row in live.requests()] == ["by_id"] * 3


def test_an_instruction_block_is_obeyed(live: Live, llama: OllamaTalk) -> None:
    block = (
        '<|instruction_start|>{"messages": [{"text": "One. "},'
        ' {"tool_call": [{"name": "f", "args": {"a": 1}}]}, {"text": "Two."}]}<|instruction_end|>'
    )
    messages = [{"role": "user", "content": block}]
    message = llama.whole(model="llama3.2", messages=messages).message
    assert (message.content, calls_of(message)) == ("One. Two.", [("f", {"a": 1})])
    generated = llama.stream("generate", model="llama3.2", prompt=block)
    assert "".join(line.response for line in generated.lines) == "One. Two."
