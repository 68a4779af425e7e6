"""Turn scripts over Anthropic's client: thinking without a signature, and missing turns."""

import pytest

from tests.engine.turn_scripts import (
    script,
    shipped_scripts,
    text_response,
    tool_call_response,
    turn,
)
from tests.sdk.client_factories import SYNC_OR_ASYNC
from tests.sdk.conversations import ConversationOptions, start_conversation
from tests.support.live_server import Live

MODEL = "test-llm-claude"
SCRIPTS = {document["id"]: document for document in shipped_scripts()}
sync_and_async = pytest.mark.parametrize("mode", SYNC_OR_ASYNC)


@sync_and_async
def test_thinking_without_a_signature_switches_reasoning_off_in_later_turns(
    live: Live, mode: str
) -> None:
    signed = {"text": "Hm.", "providerMetadata": {"anthropic": {"signature": "sig"}}}
    for id, thought in (("signed", signed), ("unsigned", {"text": "Hm."})):
        live.load(
            script(
                turn(tool_call_response({"toolName": "read_logs"}, reasoning=[thought])),
                turn(text_response("fine"), 2, expectedReasoning="enabled"),
                id=id,
            )
        )
    for id, expected in (("signed", "fine"), ("unsigned", "Scenario validation failed.")):
        conversation = start_conversation(
            live, "anthropic", MODEL, ConversationOptions(mode, False, ("read_logs",))
        )
        conversation.send_user_message(id)
        assert (
            conversation.send_tool_results({"read_logs": "ok"}).answer.content[0].text == expected
        )
    assert live.state().violations == ("Expected reasoning to remain enabled",)


@sync_and_async
def test_a_missing_turn_comes_back_as_a_failing_report(live: Live, mode: str) -> None:
    live.load(SCRIPTS["nothing-yet"])
    answer = (
        start_conversation(live, "anthropic", MODEL, ConversationOptions(mode, False, ()))
        .send_user_message("nothing-yet")
        .answer
    )
    assert answer.content[0].text == "Encountered scenario mismatch."
    assert answer.content[1].input == {
        "status": "failure",
        "report_format": "markdown",
        "report_content": "# Scenario Failure\n\nNo turn 1 in scenario nothing-yet",
    }
    assert live.state().violations == ("No turn 1 in scenario nothing-yet",)
