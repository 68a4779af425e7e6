"""Every turn of documents that users write over every wire, streamed and whole, against what the
documents say."""

from typing import Any

import pytest

from tests.engine.turn_scripts import each_collection, shipped_scripts
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName
from tests.serving.pipelines import Playing
from tests.serving.turn_scripts.turns import SESSION, THINKING, expected, heard, talk, tokens_of
from tests.support.requirement_samples import Sample


def asked(document: Sample, turn: Sample) -> dict[str, Any]:
    """What a client asks that does all that a turn expects of it."""
    fields: dict[str, Any] = {"turn": turn["turn"], "tools": ("test__test", "read")}
    fields["tools"] += tuple(turn.get("expectedTools", ()))
    fields["system"] = " / ".join(document.get("systemPromptMustInclude", ()))
    if "expectedTemperature" in turn:
        fields["temperature"] = turn["expectedTemperature"]
    if "expectedTopP" in turn:
        fields["top_p"] = turn["expectedTopP"]
    return fields


def failing_as(turn: Sample) -> tuple[int | None, float]:
    """The status of a failing attempt, `None` where it gets none, and the seconds that it waits."""
    thrown = turn.get("failureError", {})
    name = f"{thrown.get('name', '')} {thrown.get('code', '')}"
    match turn.get("failureThrows", False), turn.get("failureStatus"):
        case True, _ if "status" in thrown:
            return thrown["status"], 0.0
        case True, _ if "Network" in name or "ECONN" in name:
            return None, 0.0
        case True, _:
            return 504 if "Timeout" in name else 500, 0.0
        case _, "network_error":
            return None, 0.0
        case _, "timeout":
            return None, 30.0
        case _, "invalid_response":
            return 200, 0.0
        case _, status:
            return 429 if status == "rate_limit" else 500, 0.0


async def fail_first(playing: Playing, wire: WireName, document: Sample, turn: Sample) -> None:
    """Go through the attempts that a turn scripts to fail."""
    call = talk(wire, document["id"], **asked(document, turn))
    for _ in range(turn.get("failuresBeforeSuccess", 0)):
        answer = await playing.pipeline.answer(call)
        reply = answer.reply
        assert (reply.status if reply.started else None, reply.delay) == failing_as(turn)
        answer.finish()


@each_collection
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
async def test_complex_multi_turn_scenarios_are_answered_turn_by_turn(
    wire: WireName, stream: bool, documents: list[Sample]
) -> None:
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
            cached = wanted.get("cachedTokens", 0) if DIALECTS[wire].cached_apart else 0
            assert tokens == (wanted["inputTokens"] - cached, wanted["outputTokens"])
    assert (await playing.state.read(SESSION)).violations == ()


@pytest.mark.parametrize("wire", WIRES)
async def test_a_scenario_without_turns_answers_with_the_fallback_step(wire: WireName) -> None:
    (empty,) = [document for document in shipped_scripts() if not document["turns"]]
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
