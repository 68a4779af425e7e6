"""Instruction blocks that are wrong, too long or anything at all, through every wire."""

import json
from typing import Any

import pytest
from hypothesis import given

from scenarios_app.wire.base import Call
from tests.engine.instructions.blocks import ANY_BLOCKS, VALID_BLOCKS
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName, asking, in_test_mode, marked
from tests.serving.reading import (
    openai_stream,
    openai_whole,
)
from tests.serving.test_mode.block_answers import blocks, choices, without_ids

WRONG = {"messages": [{"text_message": {"length": "ten"}}]}
SAID = (
    "instruction block: messages[0].text_message.length: expected a whole number from 0 to 100000"
)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_wrong_block_is_a_400_in_the_providers_envelope(
    wire: WireName, stream: bool
) -> None:
    playing = in_test_mode()
    status, headers, body = await playing.ask(asking(wire, marked(WRONG), stream=stream))
    assert (status, headers["content-type"]) == (400, "application/json")
    told = json.loads(body)
    assert DIALECTS[wire].error(told) == SAID
    if wire in ("openai", "anthropic"):
        assert told["error"]["type"] == "invalid_request_error"
        assert told["error"].get("param", "messages") == "messages"
    status, _, _ = await playing.ask(asking(wire, "Hello", stream=False))
    assert status == 200


async def test_more_text_than_the_limit_names_the_key() -> None:
    block = {"messages": [{"text_message": {"length": 100_000}}] * 5}
    status, _, body = await in_test_mode().ask(asking("openai", marked(block), stream=True))
    assert status == 400
    assert json.loads(body)["error"]["message"] == (
        "instruction block: messages[3].text_message.length: "
        "more text than the limit of 2097152 bytes"
    )


async def test_the_longest_text_there_is_streams_to_its_end() -> None:
    block = {"messages": [{"text_message": {"length": 100_000}}]}
    (choice,) = await choices(asking("openai", marked(block), stream=True), stream=True)
    assert len(choice.text.split()) == 100_000
    assert choice.finish == "stop"


@given(ANY_BLOCKS)
async def test_any_block_is_answered_or_refused_and_never_breaks_a_wire(block: Any) -> None:
    playing = in_test_mode(words_per_second=0)
    statuses = set()
    for wire in WIRES:
        for stream in (True, False):
            status, _, body = await playing.ask(asking(wire, marked(block), stream=stream))
            statuses.add(status)
            if status == 200:
                _read(wire, body, stream=stream)
    assert statuses in ({200}, {400})


def _read(wire: WireName, body: bytes, *, stream: bool) -> None:
    if wire == "openai":
        found = openai_stream(body) if stream else openai_whole(body)
        # A stream that its block breaks off has no last event.
        assert found or stream
    else:
        assert DIALECTS[wire].hear(body, stream=stream).finish or stream


@given(VALID_BLOCKS)
async def test_any_right_block_says_the_same_streamed_and_whole(block: dict[str, Any]) -> None:
    def call(wire: WireName, stream: bool) -> Call:
        return asking(wire, marked(block), stream=stream, model="m")

    spoken = [await choices(call("openai", stream), stream=stream) for stream in (False, True)]
    assert len(spoken[0]) == len(block["messages"])
    # Ids depend on the body, which differs.
    nameless = [[(c, [k.pop("id") for k in c.calls])[0] for c in found] for found in spoken]
    assert nameless[0] == nameless[1]
    carried = [await blocks(call("anthropic", stream), stream=stream) for stream in (False, True)]
    assert without_ids(carried[0]) == without_ids(carried[1])
