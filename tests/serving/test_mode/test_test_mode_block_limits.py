"""Invalid, too long and random instruction blocks over every wire."""

import json
from typing import Any

import pytest
from hypothesis import given

from scenarios_app.wire.base import Call
from tests.engine.instructions.blocks import ANY_BLOCKS, VALID_BLOCKS
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName, harness_in_test_mode, sample_call, with_marks
from tests.serving.reading import (
    parse_openai_body,
    parse_openai_stream,
)
from tests.serving.test_mode.block_answers import fetch_blocks, fetch_choices, without_ids

INVALID_BLOCK = {"messages": [{"text_message": {"length": "ten"}}]}
ERROR_MESSAGE = (
    "instruction block: messages[0].text_message.length: expected a whole number from 0 to 100000"
)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_invalid_block_is_a_400_in_the_providers_envelope(
    wire: WireName, stream: bool
) -> None:
    harness = harness_in_test_mode()
    status, headers, body = await harness.ask(
        sample_call(wire, with_marks(INVALID_BLOCK), stream=stream)
    )
    assert (status, headers["content-type"]) == (400, "application/json")
    error_body = json.loads(body)
    assert DIALECTS[wire].error(error_body) == ERROR_MESSAGE
    if wire in ("openai", "anthropic"):
        assert error_body["error"]["type"] == "invalid_request_error"
        assert error_body["error"].get("param", "messages") == "messages"
    status, _, _ = await harness.ask(sample_call(wire, "Hello", stream=False))
    assert status == 200


async def test_more_text_than_the_limit_names_the_key() -> None:
    block = {"messages": [{"text_message": {"length": 100_000}}] * 5}
    status, _, body = await harness_in_test_mode().ask(
        sample_call("openai", with_marks(block), stream=True)
    )
    assert status == 400
    assert json.loads(body)["error"]["message"] == (
        "instruction block: messages[3].text_message.length: "
        "more text than the limit of 2097152 bytes"
    )


async def test_longest_allowed_text_streams_to_its_end() -> None:
    block = {"messages": [{"text_message": {"length": 100_000}}]}
    (choice,) = await fetch_choices(
        sample_call("openai", with_marks(block), stream=True), stream=True
    )
    assert len(choice.text.split()) == 100_000
    assert choice.finish == "stop"


@given(ANY_BLOCKS)
async def test_random_block_gets_200_on_every_wire_or_400_on_every_wire(block: Any) -> None:
    harness = harness_in_test_mode(words_per_second=0)
    statuses = set()
    for wire in WIRES:
        for stream in (True, False):
            status, _, body = await harness.ask(sample_call(wire, with_marks(block), stream=stream))
            statuses.add(status)
            if status == 200:
                _assert_readable(wire, body, stream=stream)
    assert statuses in ({200}, {400})


def _assert_readable(wire: WireName, body: bytes, *, stream: bool) -> None:
    if wire == "openai":
        parsed_choices = parse_openai_stream(body) if stream else parse_openai_body(body)
        # A stream that its block breaks off has no last event.
        assert parsed_choices or stream
    else:
        assert DIALECTS[wire].parse(body, stream=stream).finish or stream


@given(VALID_BLOCKS)
async def test_valid_block_gives_the_same_streamed_and_whole(block: dict[str, Any]) -> None:
    def call(wire: WireName, stream: bool) -> Call:
        return sample_call(wire, with_marks(block), stream=stream, model="m")

    choice_lists = [
        await fetch_choices(call("openai", stream), stream=stream) for stream in (False, True)
    ]
    assert len(choice_lists[0]) == len(block["messages"])
    # Ids depend on the body, which differs.
    without_call_ids = [
        [(c, [k.pop("id") for k in c.calls])[0] for c in choices] for choices in choice_lists
    ]
    assert without_call_ids[0] == without_call_ids[1]
    block_answers = [
        await fetch_blocks(call("anthropic", stream), stream=stream) for stream in (False, True)
    ]
    assert without_ids(block_answers[0]) == without_ids(block_answers[1])
