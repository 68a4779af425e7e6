"""Every turn of the requirement's real documents over every wire, streamed and whole, against what
the documents say."""

from typing import Any

import pytest

from tests.engine.turn_scripts import examples, samples
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName
from tests.serving.pipelines import Playing
from tests.serving.turns import SESSION, THINKING, expected, heard, talk, tokens_of


def asked(document: dict[str, Any], turn: dict[str, Any]) -> dict[str, Any]:
    """What a client asks that does all that a turn expects of it."""
    fields: dict[str, Any] = {"turn": turn["turn"], "tools": ("test__test", "read")}
    fields["tools"] += tuple(turn.get("expectedTools", ()))
    fields["system"] = " / ".join(document.get("systemPromptMustInclude", ()))
    if "expectedTemperature" in turn:
        fields["temperature"] = turn["expectedTemperature"]
    if "expectedTopP" in turn:
        fields["top_p"] = turn["expectedTopP"]
    return fields


async def fail_first(playing: Playing, wire: WireName, document: Any, turn: Any) -> None:
    """Go through the attempts that a turn scripts to fail."""
    for _ in range(turn.get("failuresBeforeSuccess", 0)):
        answer = await playing.pipeline.answer(talk(wire, document["id"], **asked(document, turn)))
        reply = answer.reply
        thrown = turn.get("failureError", {}) if turn.get("failureThrows") else {}
        if turn.get("failureStatus") == "invalid_response":
            assert reply.status == 200
        elif "Network" in thrown.get("name", "") and "status" not in thrown:
            assert (reply.started, reply.delay) == (False, 0.0)
        else:
            limited = 429 if turn.get("failureStatus") == "rate_limit" else 500
            assert reply.status == thrown.get("status", limited)
        answer.through()


@pytest.mark.parametrize("several", [samples, examples])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
async def test_complex_multi_turn_scenarios_are_answered_turn_by_turn(
    wire: WireName, stream: bool, several: Any
) -> None:
    documents = several()
    playing = Playing(*documents)
    for document in documents:
        for turn in document["turns"]:
            await fail_first(playing, wire, document, turn)
            fields = asked(document, turn)
            if turn.get("expectedReasoning") == "enabled":
                fields |= THINKING[wire]
            if stream:
                fields |= DIALECTS[wire].usage_asked
            call = talk(wire, document["id"], stream=stream, **fields)
            status, headers, body = await playing.ask(call)
            assert status == 200, (document["id"], body)
            assert headers["x-mockllm-scenario"] == document["id"]
            tokens = tokens_of(wire, body, stream=stream)
            if stream and DIALECTS[wire].usage_asked:
                body = without_usage(body)
            found = heard(wire, body, stream=stream)
            assert found == expected(wire, turn["response"]), (document["id"], turn["turn"])
            wanted = turn["response"].get("tokenUsage", {"inputTokens": 64, "outputTokens": 32})
            assert tokens == (wanted["inputTokens"], wanted["outputTokens"])
    assert (await playing.state.read(SESSION)).violations == ()


@pytest.mark.parametrize("wire", WIRES)
async def test_a_scenario_without_turns_answers_with_the_fallback_step(wire: WireName) -> None:
    (empty,) = [document for document in examples() if not document["turns"]]
    playing = Playing(empty)
    _, _, body = await playing.ask(talk(wire, empty["id"]))
    found = heard(wire, body, stream=False)
    assert found.texts == ["Encountered scenario mismatch."]
    assert found.report["report_content"] == (
        f"# Scenario Failure\n\nNo turn 1 in scenario {empty['id']}"
    )


def without_usage(body: bytes) -> bytes:
    """A stream without the chunk that holds nothing but its usage."""
    events = body.split(b"\n\n")
    return b"\n\n".join(event for event in events if b'"choices":[]' not in event)
