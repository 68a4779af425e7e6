"""Scripts in turns over Anthropic's client: thinking that is sent back, and what fails."""

from typing import Any

import anthropic
import pytest

from tests.engine.turn_scripts import calls, examples, says, script, turn
from tests.live import Live
from tests.sdk.anthropic.anthropic_talk import AnthropicTalk

SCRIPTS = {document["id"]: document for document in examples()}
TOOLS: list[dict[str, Any]] = [
    {"name": name, "input_schema": {"type": "object"}}
    for name in ("read_metrics", "read_logs", "agent__task_status", "agent__final_report")
]
ASKED: dict[str, Any] = {
    "model": "test-llm-claude",
    "max_tokens": 4096,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
}


def results(message: Any) -> dict[str, Any]:
    """The user message with the result of every tool that was called."""
    used = [block for block in message.content if block.type == "tool_use"]
    found = [{"type": "tool_result", "tool_use_id": use.id, "content": "ok"} for use in used]
    return {"role": "user", "content": found}


def run(claude: AnthropicTalk, id: str, turns: int, **asked: Any) -> list[Any]:
    """The answers of so many turns, each sent back as it came."""
    messages: list[Any] = [{"role": "user", "content": id}]
    answers: list[Any] = []
    while len(answers) < turns:
        answer = claude.whole(**{**ASKED, "messages": messages, **asked})
        answers.append(answer)
        messages += [{"role": "assistant", "content": answer.content}, results(answer)]
    return answers


def test_thinking_without_a_signature_switches_reasoning_off_in_later_turns(
    live: Live, claude: AnthropicTalk
) -> None:
    signed = {"text": "Hm.", "providerMetadata": {"anthropic": {"signature": "sig"}}}
    for id, thought in (("signed", signed), ("unsigned", {"text": "Hm."})):
        live.load(
            script(
                turn(calls({"toolName": "read_logs"}, reasoning=[thought])),
                turn(says("fine"), 2, expectedReasoning="enabled"),
                id=id,
            )
        )
    assert run(claude, "signed", 2, tools=TOOLS)[1].content[0].text == "fine"
    failed = run(claude, "unsigned", 2, tools=TOOLS)[1]
    assert failed.content[0].text == "Scenario validation failed."
    assert live.state().violations == ("Expected reasoning to remain enabled",)


def test_a_client_that_retries_gets_through_a_rate_limit_by_itself(
    live: Live, claude: AnthropicTalk
) -> None:
    live.load(SCRIPTS["busy-then-fine"])
    claude.given["max_retries"] = 2
    (answer,) = run(claude, "busy-then-fine", 1)
    assert answer.content[0].text == "Now there is time for you."
    assert [row.status for row in live.requests()] == [429, 429, 200]


def test_a_client_is_told_not_to_retry(live: Live, claude: AnthropicTalk) -> None:
    live.load(SCRIPTS["no-such-account"])
    claude.given["max_retries"] = 2
    with pytest.raises(anthropic.PermissionDeniedError) as raised:
        run(claude, "no-such-account", 1)
    assert raised.value.body == {"error": {"message": "This account is closed."}}
    assert len(live.requests()) == 1


def test_a_missing_turn_comes_back_as_a_failing_report(live: Live, claude: AnthropicTalk) -> None:
    live.load(SCRIPTS["nothing-yet"])
    (answer,) = run(claude, "nothing-yet", 1)
    assert answer.content[0].text == "Encountered scenario mismatch."
    assert answer.content[1].input == {
        "status": "failure",
        "report_format": "markdown",
        "report_content": "# Scenario Failure\n\nNo turn 1 in scenario nothing-yet",
    }
    assert live.state().violations == ("No turn 1 in scenario nothing-yet",)
