"""Scripts in turns over Anthropic's client: thinking that is sent back, and turns that lack."""

import pytest

from tests.engine.turn_scripts import calls, examples, says, script, turn
from tests.sdk.conversations import Begun, conversation
from tests.sdk.talks import SYNC_OR_ASYNC
from tests.support.live_server import Live

MODEL = "test-llm-claude"
SCRIPTS = {document["id"]: document for document in examples()}
each_way = pytest.mark.parametrize("way", SYNC_OR_ASYNC)


@each_way
def test_thinking_without_a_signature_switches_reasoning_off_in_later_turns(
    live: Live, way: str
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
    for id, said in (("signed", "fine"), ("unsigned", "Scenario validation failed.")):
        talk = conversation(live, "anthropic", MODEL, Begun(way, False, ("read_logs",)))
        talk.user(id)
        assert talk.give({"read_logs": "ok"}).answer.content[0].text == said
    assert live.state().violations == ("Expected reasoning to remain enabled",)


@each_way
def test_a_missing_turn_comes_back_as_a_failing_report(live: Live, way: str) -> None:
    live.load(SCRIPTS["nothing-yet"])
    answer = (
        conversation(live, "anthropic", MODEL, Begun(way, False, ())).user("nothing-yet").answer
    )
    assert answer.content[0].text == "Encountered scenario mismatch."
    assert answer.content[1].input == {
        "status": "failure",
        "report_format": "markdown",
        "report_content": "# Scenario Failure\n\nNo turn 1 in scenario nothing-yet",
    }
    assert live.state().violations == ("No turn 1 in scenario nothing-yet",)
