"""Requirement 000, R8: streams run to their end, unless a block or a setting breaks them off."""

from typing import Any

import pytest

from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS
from tests.serving.modes import (
    WIRES,
    WireName,
    fetch_body,
    harness_in_test_mode,
    sample_call,
    with_marks,
)
from tests.serving.pipelines import Harness, scenario, text_step
from tests.serving.reading import parse_openai_body, parse_openai_stream

LONG: dict[str, Any] = {"messages": [{"text_message": {"length": 60}}]}
LOREM = {"produce": {"generate": {"kind": "lorem"}}}
FAULTY = {"produce": {"generate": {"kind": "lorem"}, "fault": {"kind": "error_event"}}}


def text_pieces(wire: WireName, body: bytes) -> list[str]:
    return DIALECTS[wire].parse(body, stream=True).pieces


def has_ended(wire: WireName, body: bytes) -> bool:
    """Return whether the stream has a finish reason; one that broke off has none."""
    finish = DIALECTS[wire].parse(body, stream=True).finish
    assert finish is None or body.endswith(DIALECTS[wire].end)
    return finish is not None


@pytest.mark.parametrize("text", ["Hello", with_marks(LONG)], ids=["lorem", "block"])
@pytest.mark.parametrize("wire", WIRES)
async def test_r8_1_by_default_a_stream_runs_to_its_end(wire: WireName, text: str) -> None:
    harness = harness_in_test_mode(words_per_second=0)
    body = await fetch_body(harness, sample_call(wire, text, stream=True))
    assert has_ended(wire, body)
    (entry,) = harness.journal
    assert (entry.outcome, entry.fault) == ("complete", "")
    assert b"".join(entry.response_body) == body


@pytest.mark.parametrize("text", ["Hello", with_marks(LONG)], ids=["lorem", "block"])
@pytest.mark.parametrize("wire", WIRES)
async def test_r8_2_setting_breaks_streams_off_after_that_many_chunks(
    wire: WireName, text: str
) -> None:
    full = await fetch_body(
        harness_in_test_mode(words_per_second=0), sample_call(wire, text, stream=True)
    )
    harness = harness_in_test_mode(words_per_second=0, cancel_after_chunks=2)
    body = await fetch_body(harness, sample_call(wire, text, stream=True))
    assert text_pieces(wire, body) == text_pieces(wire, full)[:2]
    assert full.startswith(body)
    assert not has_ended(wire, body)
    (entry,) = harness.journal
    assert (entry.outcome, entry.fault) == ("fault", "truncate")


@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.parametrize("wire", WIRES)
async def test_r8_2_block_overrides_the_cancel_setting(wire: WireName, after: int) -> None:
    harness = harness_in_test_mode(words_per_second=0, cancel_after_chunks=2)
    block = {**LONG, "cancel_after_chunks": after}
    body = await fetch_body(harness, sample_call(wire, with_marks(block), stream=True))
    assert len(text_pieces(wire, body)) == after
    assert not has_ended(wire, body)


async def test_r8_2_chunks_of_reasoning_and_of_arguments_count_too() -> None:
    block = {
        "reasoning": {"length": 3},
        "messages": [{"tool_call": [{"name": "f", "args": {"a": 1}}]}],
        "cancel_after_chunks": 2,
    }
    harness = harness_in_test_mode(words_per_second=0)
    body = await fetch_body(harness, sample_call("openai", with_marks(block), stream=True))
    (choice,) = parse_openai_stream(body)
    assert len(choice.reasoning_deltas) == 1
    assert choice.calls[0]["arguments"] == '{"a"'


async def test_r8_2_a_stream_with_fewer_chunks_breaks_off_before_its_end() -> None:
    harness = harness_in_test_mode(words_per_second=0, cancel_after_chunks=1_000)
    body = await fetch_body(harness, sample_call("openai", "Hello", stream=True))
    assert text_pieces("openai", body)[-1] == " Hello"
    assert not has_ended("openai", body)


@pytest.mark.parametrize("text", ["Hello", with_marks({**LONG, "cancel_after_chunks": 1})])
@pytest.mark.parametrize("wire", WIRES)
async def test_r8_2_a_whole_answer_stays_whole(wire: WireName, text: str) -> None:
    harness = harness_in_test_mode(cancel_after_chunks=1)
    body = await fetch_body(harness, sample_call(wire, text, stream=False))
    dialect = DIALECTS[wire]
    assert dialect.parse(body, stream=False).finish == dialect.finish["stop"]
    assert harness.journal[0].outcome == "complete"


async def test_r8_2_setting_applies_only_to_generated_answers() -> None:
    harness = Harness(scenario("s", text_step("one two three")), cancel_after_chunks=1)
    body = await fetch_body(harness, sample_call("openai", stream=True))
    assert has_ended("openai", body)


async def test_r8_2_fault_of_a_step_overrides_the_setting() -> None:
    harness = Harness(scenario("s", FAULTY), cancel_after_chunks=3, words_per_second=0)
    body = await fetch_body(harness, sample_call("openai", stream=True))
    assert b'"error"' in body
    assert harness.journal[0].fault == "error_event"


async def test_r8_2_an_answer_generated_for_streams_alone_breaks_off_too() -> None:
    modes = {"streaming": LOREM["produce"], "non_streaming": {"text": "whole"}}
    harness = Harness(
        scenario("s", {"consume": False, "produce": modes}),
        cancel_after_chunks=1,
        words_per_second=0,
    )
    assert not has_ended("openai", await fetch_body(harness, sample_call("openai", stream=True)))
    whole_call: Call = sample_call("openai", stream=False)
    assert parse_openai_body(await fetch_body(harness, whole_call))[0].text == "whole"
