"""Requirement 000, R9: blocks as users write them, over every wire, streamed and whole."""

import json
from typing import Any

import pytest

from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS, ParsedAnswer
from tests.serving.modes import (
    WIRES,
    WireName,
    fetch_body,
    harness_in_test_mode,
    sample_call,
    with_marks,
)
from tests.serving.reading import (
    parse_anthropic_body,
    parse_anthropic_stream,
    parse_openai_body,
    parse_openai_stream,
)
from tests.support.requirement_samples import Sample, blocks_of_chain, each_block

# Each wire has its own names and places for settings.
WIRE_SPECIFIC = {
    "request_params_echo",
    "request_headers_echo",
    "request_url_echo",
    "tools_echo",
}
# Without text, unless the block has marks around it.
EMPTY = {"text_message": {"length": 0}}
WITHOUT_TEXT = {"tool_call", "server_tool_use", "server_tool_result"}
SCHEMA = {"type": "object", "properties": {"location": {"type": "string"}}}


def turn_request(wire: WireName, block: Sample, turn: int, *, stream: bool) -> Call:
    """Return the request for answer number `turn` of a chain, counted from 0."""
    turns = [{"role": "user", "content": with_marks(block)}]
    turns += [{"role": "assistant", "content": "done"}] * turn
    tools = [DIALECTS[wire].tool("get_weather", description="Weather.", schema=SCHEMA)]
    return sample_call(wire, stream=stream, messages=turns, tools=tools, max_tokens=50, model="m")


async def fetch_turn_body(wire: WireName, block: Sample, turn: int, *, stream: bool) -> bytes:
    harness = harness_in_test_mode(words_per_second=0)
    return await fetch_body(harness, turn_request(wire, block, turn, stream=stream))


def expected_tool_calls(block: Sample) -> list[Any]:
    return [call for message in block["messages"] for call in message.get("tool_call", [])]


@pytest.mark.parametrize("stream", [True, False])
@each_block
async def test_openai_has_a_choice_for_each_message(block: Sample, stream: bool) -> None:
    for turn, link in enumerate(blocks_of_chain(block)):
        body = await fetch_turn_body("openai", block, turn, stream=stream)
        choices = parse_openai_stream(body) if stream else parse_openai_body(body)
        for message, choice in zip(link["messages"], choices, strict=True):
            tool_calls = [
                {"name": c["name"], "args": json.loads(c["arguments"])} for c in choice.calls
            ]
            assert tool_calls == message.get("tool_call", [])
            assert choice.finish == ("tool_calls" if tool_calls else "stop")
            has_text = message != EMPTY or "id_message" in link
            assert bool(choice.text) == (has_text and not WITHOUT_TEXT & message.keys())


@pytest.mark.parametrize("stream", [True, False])
@each_block
async def test_anthropic_has_blocks_for_each_message(block: Sample, stream: bool) -> None:
    for turn, link in enumerate(blocks_of_chain(block)):
        body = await fetch_turn_body("anthropic", block, turn, stream=stream)
        content_blocks, reason = (
            parse_anthropic_stream(body) if stream else parse_anthropic_body(body)
        )
        tool_calls = [
            {"name": b["name"], "args": b["input"]}
            for b in content_blocks
            if b["type"] == "tool_use"
        ]
        assert tool_calls == expected_tool_calls(link)
        assert reason == ("tool_use" if tool_calls else "end_turn")
        for kind, type in (("use", "server_tool_use"), ("result", "web_search_tool_result")):
            expected_count = sum(f"server_tool_{kind}" in message for message in link["messages"])
            assert sum(b["type"] == type for b in content_blocks) == expected_count


@pytest.mark.parametrize("stream", [True, False])
@each_block
async def test_every_wire_gives_the_same_texts_and_tool_calls(block: Sample, stream: bool) -> None:
    for turn, link in enumerate(blocks_of_chain(block)):
        answers: dict[str, ParsedAnswer] = {}
        for wire in WIRES:
            body = await fetch_turn_body(wire, block, turn, stream=stream)
            answers[wire] = DIALECTS[wire].parse(body, stream=stream)
            tool_calls = [{"name": name, "args": args} for _, name, args in answers[wire].calls]
            assert tool_calls == expected_tool_calls(link), wire
        if not any(WIRE_SPECIFIC & message.keys() for message in link["messages"]):
            assert len({answer.text for answer in answers.values()}) == 1
            assert len({answer.thinking for answer in answers.values()}) == 1
