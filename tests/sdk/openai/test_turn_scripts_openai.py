"""Scripts in turns over OpenAI's client: what fails, and what the client makes of it."""

import json
from typing import Any

import openai
import pytest

from tests.engine.turn_scripts import examples
from tests.live import Live
from tests.sdk.openai.openai_talk import OpenAITalk

SCRIPTS = {document["id"]: document for document in examples()}


def test_a_client_that_retries_gets_through_a_rate_limit_by_itself(
    live: Live, chat: OpenAITalk
) -> None:
    live.load(SCRIPTS["busy-then-fine"])
    chat.given["max_retries"] = 2
    messages = [{"role": "user", "content": "busy-then-fine"}]
    answer = chat.whole(model="test-llm", messages=messages)
    assert answer.choices[0].message.content == "Now there is time for you."
    assert [row.status for row in live.requests()] == [429, 429, 200]


def test_a_client_is_told_not_to_retry(live: Live, chat: OpenAITalk) -> None:
    live.load(SCRIPTS["no-such-account"])
    chat.given["max_retries"] = 2
    messages = [{"role": "user", "content": "no-such-account"}]
    with pytest.raises(openai.PermissionDeniedError) as raised:
        chat.whole(model="test-llm", messages=messages)
    assert raised.value.response.headers["x-account"] == "closed"
    assert raised.value.body == {"message": "This account is closed."}
    assert len(live.requests()) == 1
    answer = chat.whole(model="test-llm", messages=messages)
    assert answer.choices[0].message.content == "The account is open again."


def test_what_is_not_as_expected_comes_back_as_a_failing_report(
    live: Live, chat: OpenAITalk
) -> None:
    live.load(SCRIPTS["careful-settings"])
    asked: dict[str, Any] = {
        "model": "test-llm",
        "messages": [{"role": "user", "content": "careful-settings"}],
        "temperature": 1,
        "top_p": 0.95,
    }
    calls = chat.whole(**asked).choices[0].message.tool_calls
    assert calls is not None and calls[0].type == "function"
    report = json.loads(calls[0].function.arguments)
    assert report["status"] == "failure"
    assert report["report_content"].endswith("Expected reasoning to remain enabled")
    answer = chat.whole(**asked, reasoning_effort="low")
    assert answer.choices[0].message.content == "Settings as agreed."
    assert live.state().violations == ("Expected reasoning to remain enabled",)
