"""Conversations over OpenAI's client of which something was expected, or which a header joins."""

from dataclasses import replace
from typing import Any

import openai
import pytest

from tests.sdk.openai.openai_talk import OpenAITalk
from tests.sdk.paris import paris
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
ASKED = {"role": "user", "content": "How is Paris tonight?"}


def test_failed_expectation_is_reported(live: Live, chat: OpenAITalk) -> None:
    live.load(paris("openai"))
    asked = {"model": "gpt-4o", "messages": [ASKED], "tools": TOOLS, "temperature": 0.9}
    with pytest.raises(openai.BadRequestError, match="step “ask for both”") as refused:
        chat.whole(**asked)
    assert refused.value.code == "expectation_violated"
    (violation,) = live.state().violations
    assert violation == "Expected temperature 0.2 but received 0.9"
    assert violation in str(refused.value)
    # No step was consumed: the correct request still gets its answer.
    assert chat.whole(**{**asked, "temperature": 0.2}).choices[0].finish_reason == "tool_calls"


def test_a_session_header_joins_two_keys(live: Live, chat: OpenAITalk) -> None:
    live = replace(live, name=f"joined-{live.key}")
    live.load(paris("openai"))
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
