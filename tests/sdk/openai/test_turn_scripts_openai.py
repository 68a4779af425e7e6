"""Scripts in turns over OpenAI's client: an agent's run to its final report, and failures."""

import json
from typing import Any

import openai
import pytest

from tests.engine.turn_scripts import examples
from tests.live import Live
from tests.sdk.openai.openai_talk import OpenAITalk

SCRIPTS = {document["id"]: document for document in examples()}
OUTAGE = SCRIPTS["investigate-outage"]
SYSTEM = {"role": "system", "content": "You are on call. Be brief."}
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("read_metrics", "read_logs", "agent__task_status", "agent__final_report")
]
RESULTS = {"read_metrics": "errors: 38 %", "read_logs": "no connection", "agent__task_status": "ok"}


@pytest.mark.parametrize("model", ["gpt-4o", "test-llm/gpt-4o"])
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_an_agents_run_of_three_turns(live: Live, chat: OpenAITalk, way: str, model: str) -> None:
    live.load(*examples())
    messages: list[Any] = [SYSTEM, {"role": "user", "content": OUTAGE["id"]}]
    answers: list[Any] = []
    while len(answers) < 3:
        asked = {"model": model, "messages": messages, "tools": TOOLS}
        answer = chat.whole(**asked) if way == "whole" else chat.helped(**asked).final
        answers.append(answer.choices[0])
        message: Any = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls or ():
            if call.function.name in RESULTS:
                result = RESULTS[call.function.name]
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    first, second, third = (choice.message for choice in answers)
    assert first.reasoning == "Errors began half an hour ago, so I start there."
    assert first.content == "I will look at the service first.Its logs may say more."
    assert [
        (c.id, c.function.name, json.loads(c.function.arguments)) for c in first.tool_calls
    ] == [
        ("call-metrics", "read_metrics", {"service": "checkout", "minutes": 30}),
        ("call-logs", "read_logs", {"service": "checkout", "level": "error"}),
    ]
    assert [call.id for call in second.tool_calls] == ["call-1"]
    assert third.content == "Here is what I found."
    (report,) = third.tool_calls
    assert (report.id, report.function.name) == ("agent-final-report", "agent__final_report")
    assert list(json.loads(report.function.arguments)) == [
        "status",
        "report_format",
        "report_content",
        "content_json",
    ]
    assert [choice.finish_reason for choice in answers] == ["tool_calls"] * 3
    assert live.state().violations == ()
    assert [row.way for row in live.requests()] == ["by_id"] * 3


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
