"""Thinking without a signature in later turns, as requests over the wires bring it."""

from typing import Any

from tests.engine.turn_scripts import script, turn
from tests.serving.pipelines import Playing, scenario
from tests.serving.turn_scripts.turns import ERROR, THINKING, hear, is_failure, talk, tokens_of


def thought(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    """A conversation in its second turn: the first answer thought these blocks and used a tool."""
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
    playing = Playing(
        script(
            turn(expectedReasoning="enabled"),
            turn(expectedReasoning="enabled", number=2),
        )
    )
    thinking = THINKING["anthropic"]
    for blocks in ((UNSIGNED,), (UNSIGNED, UNSIGNED)):
        fields = {"messages": thought(*blocks), **thinking}
        answer = await hear(playing, "anthropic", "script", **fields)
        assert is_failure(answer, ERROR, "Expected reasoning to remain enabled")
    for kept in ((), (SIGNED,), (HIDDEN,), (UNSIGNED, SIGNED)):
        fields = {"messages": thought(*kept), **thinking}
        assert (await hear(playing, "anthropic", "script", **fields)).text == "fine"


async def test_signature_preservation_is_the_affair_of_wires_that_have_signatures() -> None:
    playing = Playing(script(turn(expectedReasoning="enabled", number=2)))
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "script"},
        {"role": "assistant", "content": None, "reasoning": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "sunny"},
    ]
    answer = await hear(playing, "openai", "script", messages=messages, reasoning_effort="low")
    assert answer.text == "fine"


async def test_unsigned_thinking_is_not_counted_in_the_tokens_of_an_answer() -> None:
    playing = Playing(scenario("any", {"consume": False, "produce": {"text": "a"}}))
    counts = []
    for blocks in ((), (UNSIGNED,), (SIGNED,)):
        call = talk("anthropic", "script", model="claude-x", messages=thought(*blocks))
        _, _, body = await playing.ask(call)
        counts.append(tokens_of("anthropic", body, stream=False)[0])
    assert counts[0] == counts[1] < counts[2]
