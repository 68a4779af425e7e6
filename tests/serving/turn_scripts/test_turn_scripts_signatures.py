"""Reasoning without a signature in the earlier turns of a request."""

from typing import Any

from tests.engine.turn_scripts import script, turn
from tests.serving.pipelines import Harness, scenario
from tests.serving.turn_scripts.turns import (
    ERROR,
    THINKING,
    is_failure,
    send_turn,
    tokens_of,
    turn_request,
)


def second_turn(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a conversation in its second turn; the first answer had these blocks and a tool
    call."""
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "sunny"}
    return [
        {"role": "user", "content": "script"},
        {"role": "assistant", "content": [*blocks, use]},
        {"role": "user", "content": [result]},
    ]


UNSIGNED = {"type": "thinking", "thinking": "Hm.", "signature": ""}
SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "sig"}
HIDDEN = {"type": "redacted_thinking", "data": "xyz"}


async def test_signature_validation_unsigned_thinking_counts_as_disabled_later() -> None:
    harness = Harness(
        script(
            turn(expectedReasoning="enabled"),
            turn(expectedReasoning="enabled", number=2),
        )
    )
    thinking = THINKING["anthropic"]
    for blocks in ((UNSIGNED,), (UNSIGNED, UNSIGNED)):
        fields = {"messages": second_turn(*blocks), **thinking}
        answer = await send_turn(harness, "anthropic", "script", **fields)
        assert is_failure(answer, ERROR, "Expected reasoning to remain enabled")
    for signed_blocks in ((), (SIGNED,), (HIDDEN,), (UNSIGNED, SIGNED)):
        fields = {"messages": second_turn(*signed_blocks), **thinking}
        assert (await send_turn(harness, "anthropic", "script", **fields)).text == "fine"


async def test_signature_preservation_applies_only_to_wires_with_signatures() -> None:
    harness = Harness(script(turn(expectedReasoning="enabled", number=2)))
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "script"},
        {"role": "assistant", "content": None, "reasoning": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "sunny"},
    ]
    answer = await send_turn(harness, "openai", "script", messages=messages, reasoning_effort="low")
    assert answer.text == "fine"


async def test_unsigned_thinking_is_not_counted_in_the_tokens_of_an_answer() -> None:
    harness = Harness(scenario("any", {"consume": False, "produce": {"text": "a"}}))
    counts = []
    for blocks in ((), (UNSIGNED,), (SIGNED,)):
        call = turn_request("anthropic", "script", model="claude-x", messages=second_turn(*blocks))
        _, _, body = await harness.ask(call)
        counts.append(tokens_of("anthropic", body, stream=False)[0])
    assert counts[0] == counts[1] < counts[2]
