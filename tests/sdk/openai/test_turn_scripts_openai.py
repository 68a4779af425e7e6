"""A turn script over OpenAI's client whose expectations are not met."""

import json
from typing import Any

from tests.engine.turn_scripts import shipped_scripts
from tests.sdk.openai.openai_chat_client import OpenAIChatClient
from tests.support.live_server import Live

SCRIPTS = {document["id"]: document for document in shipped_scripts()}


def test_failed_expectation_is_returned_as_a_failing_report(
    live: Live, chat: OpenAIChatClient
) -> None:
    live.load(SCRIPTS["careful-settings"])
    request: dict[str, Any] = {
        "model": "test-llm",
        "messages": [{"role": "user", "content": "careful-settings"}],
        "temperature": 1,
        "top_p": 0.95,
    }
    calls = chat.create(**request).choices[0].message.tool_calls
    assert calls is not None and calls[0].type == "function"
    report = json.loads(calls[0].function.arguments)
    assert report["status"] == "failure"
    assert report["report_content"].endswith("Expected reasoning to remain enabled")
    answer = chat.create(**request, reasoning_effort="low")
    assert answer.choices[0].message.content == "Settings as agreed."
    assert live.state().violations == ("Expected reasoning to remain enabled",)
