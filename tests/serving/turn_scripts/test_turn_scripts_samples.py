"""Every turn of sample documents over every wire, streamed and whole, against the documents."""

from typing import Any

import pytest

from tests.engine.turn_scripts import each_collection, shipped_scripts
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName
from tests.serving.pipelines import Harness
from tests.serving.turn_scripts.turns import (
    SESSION,
    THINKING,
    expected_answer,
    parse_body,
    tokens_of,
    turn_request,
)
from tests.support.requirement_samples import Sample


def valid_fields(document: Sample, turn: Sample) -> dict[str, Any]:
    """Return request fields that meet all expectations of a turn."""
    fields: dict[str, Any] = {"turn": turn["turn"], "tools": ("test__test", "read")}
    fields["tools"] += tuple(turn.get("expectedTools", ()))
    fields["system"] = " / ".join(document.get("systemPromptMustInclude", ()))
    if "expectedTemperature" in turn:
        fields["temperature"] = turn["expectedTemperature"]
    if "expectedTopP" in turn:
        fields["top_p"] = turn["expectedTopP"]
    return fields


def expected_failure(turn: Sample) -> tuple[int | None, float]:
    """Return the status of a failing attempt, or None without a response, and its delay."""
    error = turn.get("failureError", {})
    name = f"{error.get('name', '')} {error.get('code', '')}"
    match turn.get("failureThrows", False), turn.get("failureStatus"):
        case True, _ if "status" in error:
            return error["status"], 0.0
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


async def fail_first(harness: Harness, wire: WireName, document: Sample, turn: Sample) -> None:
    """Make the attempts that a turn scripts to fail."""
    call = turn_request(wire, document["id"], **valid_fields(document, turn))
    for _ in range(turn.get("failuresBeforeSuccess", 0)):
        answer = await harness.pipeline.answer(call)
        reply = answer.reply
        assert (reply.status if reply.started else None, reply.delay) == expected_failure(turn)
        answer.finish()


@each_collection
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
async def test_complex_multi_turn_scenarios_are_answered_turn_by_turn(
    wire: WireName, stream: bool, documents: list[Sample]
) -> None:
    harness = Harness(*documents)
    for document in documents:
        for turn in document["turns"]:
            await fail_first(harness, wire, document, turn)
            fields = valid_fields(document, turn)
            if turn.get("expectedReasoning") == "enabled":
                fields |= THINKING[wire]
            if stream:
                fields |= DIALECTS[wire].usage_fields
            call = turn_request(wire, document["id"], stream=stream, **fields)
            status, headers, body = await harness.ask(call)
            assert status == 200, (document["id"], body)
            assert headers["x-mockllm-scenario"] == document["id"]
            tokens = tokens_of(wire, body, stream=stream)
            if stream and DIALECTS[wire].usage_fields:
                body = without_usage(body)
            answer = parse_body(wire, body, stream=stream)
            assert answer == expected_answer(wire, turn["response"]), (document["id"], turn["turn"])
            usage = turn["response"].get("tokenUsage", {"inputTokens": 64, "outputTokens": 32})
            cached_tokens = usage.get("cachedTokens", 0) if DIALECTS[wire].cached_apart else 0
            assert tokens == (usage["inputTokens"] - cached_tokens, usage["outputTokens"])
    assert (await harness.state.read(SESSION)).violations == ()


@pytest.mark.parametrize("wire", WIRES)
async def test_a_scenario_without_turns_answers_with_the_fallback_step(wire: WireName) -> None:
    (empty,) = [document for document in shipped_scripts() if not document["turns"]]
    harness = Harness(empty)
    _, _, body = await harness.ask(turn_request(wire, empty["id"]))
    answer = parse_body(wire, body, stream=False)
    assert answer.texts == ["Encountered scenario mismatch."]
    assert answer.report["report_content"] == (
        f"# Scenario Failure\n\nNo turn 1 in scenario {empty['id']}"
    )


def without_usage(body: bytes) -> bytes:
    """Return a stream without its usage chunk."""
    events = body.split(b"\n\n")
    return b"\n\n".join(event for event in events if b'"choices":[]' not in event)
