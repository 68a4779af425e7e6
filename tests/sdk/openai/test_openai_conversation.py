"""Conversations of several turns over OpenAI's client: tools called, results sent back."""

import json
from typing import Any

import openai
import pytest

from tests.live import Live
from tests.sdk.openai.openai_talk import OpenAITalk
from tests.serving.pipelines import scenario

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Tells the {name.removeprefix('get_')}.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
    for name in ("get_weather", "get_time")
]
RESULTS = {"get_weather": "18 degrees, sunny", "get_time": "21:40"}
ASKED = {"role": "user", "content": "How is Paris tonight?"}
BOTH = scenario(
    "paris",
    {
        "name": "ask for both",
        "turn": 1,
        "match": {"provider": "openai", "tools": ["get_weather", "get_time"]},
        "expect": {"tools": ["get_weather", "get_time"], "temperature": 0.2},
        "produce": {
            "text": "Let me look.",
            "tool_calls": [
                {"id": "call_w", "name": "get_weather", "arguments": {"city": "Paris"}},
                {"id": "call_t", "name": "get_time", "arguments": {"city": "Paris"}},
            ],
        },
    },
    {
        "name": "tell",
        "turn": 2,
        "match": {
            "tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}],
            "tool_results": [
                {"tool_call_id": "call_w", "name": "get_weather", "contains": "sunny"},
                {"tool_call_id": "call_t", "name": "get_time", "equals": "21:40"},
            ],
        },
        "produce": {"text": "It is a sunny evening."},
    },
    {
        "name": "say goodbye",
        "turn": 3,
        "match": {"messages": [{"role": "user", "contains": "thanks", "ignore_case": True}]},
        "produce": {"text": "Enjoy it."},
    },
)


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_conversation_with_two_tools(live: Live, chat: OpenAITalk, way: str) -> None:
    live.load(BOTH)
    messages: list[Any] = [ASKED]

    def say() -> Any:
        asked = {"model": "gpt-4o", "messages": messages, "tools": TOOLS, "temperature": 0.2}
        answer = chat.whole(**asked) if way == "whole" else chat.helped(**asked).final
        message = answer.choices[0].message
        # Sent back as the client gives it, with every field that it has.
        messages.append(message.model_dump(exclude_none=True))
        return message

    calls = say().tool_calls
    assert [call.function.name for call in calls] == ["get_weather", "get_time"]
    for call in calls:
        assert json.loads(call.function.arguments) == {"city": "Paris"}
        result = RESULTS[call.function.name]
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    assert say().content == "It is a sunny evening."
    messages.append({"role": "user", "content": "Thanks!"})
    assert say().content == "Enjoy it."

    served = live.requests()
    assert [row.step for row in served] == ["ask for both", "tell", "say goodbye"]
    assert live.state().violations == ()


def test_what_was_expected_and_is_not_there_is_told(live: Live, chat: OpenAITalk) -> None:
    live.load(BOTH)
    asked = {"model": "gpt-4o", "messages": [ASKED], "tools": TOOLS, "temperature": 0.9}
    with pytest.raises(openai.BadRequestError, match="step “ask for both”") as refused:
        chat.whole(**asked)
    assert refused.value.code == "expectation_violated"
    (violation,) = live.state().violations
    assert violation == "Expected temperature 0.2 but received 0.9"
    assert violation in str(refused.value)
    # It consumed nothing: the same question as it should be gets its answer.
    assert chat.whole(**{**asked, "temperature": 0.2}).choices[0].finish_reason == "tool_calls"


def test_two_keys_are_two_conversations(live: Live, chat: OpenAITalk) -> None:
    live.load(BOTH)
    asked = {"model": "gpt-4o", "messages": [ASKED], "tools": TOOLS, "temperature": 0.2}
    for key in ("one", "two"):
        chat.given["api_key"] = live.key + key
        assert chat.whole(**asked).choices[0].finish_reason == "tool_calls"


def test_a_session_header_joins_two_keys(live: Live, chat: OpenAITalk) -> None:
    live.load(BOTH)
    asked = {"model": "gpt-4o", "messages": [ASKED], "tools": TOOLS, "temperature": 0.2}
    statuses = []
    for key in ("one", "two"):
        chat.given |= {
            "api_key": live.key + key,
            "default_headers": {"X-MockLLM-Session": live.session},
        }
        try:
            chat.whole(**asked)
            statuses.append(200)
        except Exception as error:
            statuses.append(getattr(error, "status_code", 0))
    assert statuses == [200, 404]
    assert [row.outcome for row in live.requests()] == ["complete", "unmatched"]
