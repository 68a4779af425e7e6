"""Requirement 000, R9: blocks as users write them, through every wire, streamed and whole."""

import json
from typing import Any

import pytest

from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS, Heard
from tests.serving.modes import WIRES, WireName, asking, body_of, in_test_mode, marked
from tests.serving.reading import (
    anthropic_stream,
    anthropic_whole,
    openai_stream,
    openai_whole,
)
from tests.support.requirement_samples import Sample, chain_of, each_block

# Each wire has its own names and places for settings.
OF_THE_WIRE = {
    "request_params_echo",
    "request_headers_echo",
    "request_url_echo",
    "tools_echo",
}
# Without text, unless the block has marks around it.
EMPTY = {"text_message": {"length": 0}}
SILENT = {"tool_call", "server_tool_use", "server_tool_result"}
SCHEMA = {"type": "object", "properties": {"location": {"type": "string"}}}


def at_turn(wire: WireName, block: Sample, turn: int, *, stream: bool) -> Call:
    """The request that asks for a chain's answer number `turn` from 0."""
    turns = [{"role": "user", "content": marked(block)}]
    turns += [{"role": "assistant", "content": "done"}] * turn
    tools = [DIALECTS[wire].tool("get_weather", description="Weather.", schema=SCHEMA)]
    return asking(wire, stream=stream, messages=turns, tools=tools, max_tokens=50, model="m")


async def body_at(wire: WireName, block: Sample, turn: int, *, stream: bool) -> bytes:
    playing = in_test_mode(words_per_second=0)
    return await body_of(playing, at_turn(wire, block, turn, stream=stream))


def calls_in(one: Sample) -> list[Any]:
    return [call for message in one["messages"] for call in message.get("tool_call", [])]


@pytest.mark.parametrize("stream", [True, False])
@each_block
async def test_openai_has_a_choice_for_each_message(block: Sample, stream: bool) -> None:
    for turn, one in enumerate(chain_of(block)):
        body = await body_at("openai", block, turn, stream=stream)
        spoken = openai_stream(body) if stream else openai_whole(body)
        for message, choice in zip(one["messages"], spoken, strict=True):
            sent = [{"name": c["name"], "args": json.loads(c["arguments"])} for c in choice.calls]
            assert sent == message.get("tool_call", [])
            assert choice.finish == ("tool_calls" if sent else "stop")
            speaks = message != EMPTY or "id_message" in one
            assert bool(choice.text) == (speaks and not SILENT & message.keys())


@pytest.mark.parametrize("stream", [True, False])
@each_block
async def test_anthropic_has_blocks_for_each_message(block: Sample, stream: bool) -> None:
    for turn, one in enumerate(chain_of(block)):
        body = await body_at("anthropic", block, turn, stream=stream)
        found, reason = anthropic_stream(body) if stream else anthropic_whole(body)
        used = [{"name": b["name"], "args": b["input"]} for b in found if b["type"] == "tool_use"]
        assert used == calls_in(one)
        assert reason == ("tool_use" if used else "end_turn")
        for kind, type in (("use", "server_tool_use"), ("result", "web_search_tool_result")):
            wanted = sum(f"server_tool_{kind}" in message for message in one["messages"])
            assert sum(b["type"] == type for b in found) == wanted


@pytest.mark.parametrize("stream", [True, False])
@each_block
async def test_every_wire_says_and_calls_the_same(block: Sample, stream: bool) -> None:
    for turn, one in enumerate(chain_of(block)):
        heard: dict[str, Heard] = {}
        for wire in WIRES:
            body = await body_at(wire, block, turn, stream=stream)
            heard[wire] = DIALECTS[wire].hear(body, stream=stream)
            called = [{"name": name, "args": args} for _, name, args in heard[wire].calls]
            assert called == calls_in(one), wire
        if not any(OF_THE_WIRE & message.keys() for message in one["messages"]):
            assert len({h.text for h in heard.values()}) == 1
            assert len({h.thinking for h in heard.values()}) == 1
