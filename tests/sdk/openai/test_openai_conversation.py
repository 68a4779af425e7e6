"""Conversations over OpenAI's client with expectations and with a session header."""

from dataclasses import replace
from typing import Any

import openai
import pytest

from tests.sdk.openai.openai_chat_client import OpenAIChatClient
from tests.sdk.paris import paris_scenario
from tests.support.live_server import Live

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
QUESTION = {"role": "user", "content": "How is Paris tonight?"}


def test_failed_expectation_is_reported(live: Live, chat: OpenAIChatClient) -> None:
    live.load(paris_scenario("openai"))
    request = {"model": "gpt-4o", "messages": [QUESTION], "tools": TOOLS, "temperature": 0.9}
    with pytest.raises(openai.BadRequestError, match="step “ask for both”") as error:
        chat.create(**request)
    assert error.value.code == "expectation_violated"
    (violation,) = live.state().violations
    assert violation == "Expected temperature 0.2 but received 0.9"
    assert violation in str(error.value)
    # No step was consumed: the correct request still gets its answer.
    assert chat.create(**{**request, "temperature": 0.2}).choices[0].finish_reason == "tool_calls"


def test_session_header_joins_the_sessions_of_two_keys(live: Live, chat: OpenAIChatClient) -> None:
    live = replace(live, name=f"joined-{live.key}")
    live.load(paris_scenario("openai"))
    request = {"model": "gpt-4o", "messages": [QUESTION], "tools": TOOLS, "temperature": 0.2}
    statuses = []
    for key in ("one", "two"):
        chat.options |= {
            "api_key": live.key + key,
            "default_headers": {"X-MockLLM-Session": live.session},
        }
        try:
            chat.create(**request)
            statuses.append(200)
        except Exception as error:
            statuses.append(getattr(error, "status_code", 0))
    assert statuses == [200, 404]
    assert [row.outcome for row in live.requests()] == ["complete", "unmatched"]
