"""Requirement 000, R8: streams run to their end, unless a block or a setting breaks them off."""

from typing import Any

import pytest

from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName, asking, body_of, in_test_mode, marked
from tests.serving.pipelines import Playing, says, scenario
from tests.serving.reading import openai_stream, openai_whole

LONG: dict[str, Any] = {"messages": [{"text_message": {"length": 60}}]}
LOREM = {"produce": {"generate": {"kind": "lorem"}}}
FAULTY = {"produce": {"generate": {"kind": "lorem"}, "fault": {"kind": "error_event"}}}


def pieces(wire: WireName, body: bytes) -> list[str]:
    return DIALECTS[wire].hear(body, stream=True).pieces


def ended(wire: WireName, body: bytes) -> bool:
    """Whether the stream says that it is over; one that broke off says nothing of the kind."""
    finish = DIALECTS[wire].hear(body, stream=True).finish
    assert finish is None or body.endswith(DIALECTS[wire].end)
    return finish is not None


@pytest.mark.parametrize("text", ["Hello", marked(LONG)], ids=["lorem", "block"])
@pytest.mark.parametrize("wire", WIRES)
async def test_r8_1_by_default_a_stream_runs_to_its_end(wire: WireName, text: str) -> None:
    playing = in_test_mode(words_per_second=0)
    body = await body_of(playing, asking(wire, text, stream=True))
    assert ended(wire, body)
    (entry,) = playing.journal
    assert (entry.outcome, entry.fault) == ("complete", "")
    assert b"".join(entry.response_body) == body


@pytest.mark.parametrize("text", ["Hello", marked(LONG)], ids=["lorem", "block"])
@pytest.mark.parametrize("wire", WIRES)
async def test_r8_2_the_setting_breaks_streams_off_after_so_many_chunks(
    wire: WireName, text: str
) -> None:
    full = await body_of(in_test_mode(words_per_second=0), asking(wire, text, stream=True))
    playing = in_test_mode(words_per_second=0, cancel_after_chunks=2)
    body = await body_of(playing, asking(wire, text, stream=True))
    assert pieces(wire, body) == pieces(wire, full)[:2]
    assert full.startswith(body)
    assert not ended(wire, body)
    (entry,) = playing.journal
    assert (entry.outcome, entry.fault) == ("fault", "truncate")


@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.parametrize("wire", WIRES)
async def test_r8_2_a_block_breaks_its_stream_off_whatever_the_setting_says(
    wire: WireName, after: int
) -> None:
    playing = in_test_mode(words_per_second=0, cancel_after_chunks=2)
    block = {**LONG, "cancel_after_chunks": after}
    body = await body_of(playing, asking(wire, marked(block), stream=True))
    assert len(pieces(wire, body)) == after
    assert not ended(wire, body)


async def test_r8_2_chunks_of_reasoning_and_of_arguments_count_too() -> None:
    block = {
        "reasoning": {"length": 3},
        "messages": [{"tool_call": [{"name": "f", "args": {"a": 1}}]}],
        "cancel_after_chunks": 2,
    }
    playing = in_test_mode(words_per_second=0)
    body = await body_of(playing, asking("openai", marked(block), stream=True))
    (choice,) = openai_stream(body)
    assert len(choice.thoughts) == 1
    assert choice.calls[0]["arguments"] == '{"a"'


async def test_r8_2_a_stream_with_fewer_chunks_breaks_off_before_its_end() -> None:
    playing = in_test_mode(words_per_second=0, cancel_after_chunks=1_000)
    body = await body_of(playing, asking("openai", "Hello", stream=True))
    assert pieces("openai", body)[-1] == " Hello"
    assert not ended("openai", body)


@pytest.mark.parametrize("text", ["Hello", marked({**LONG, "cancel_after_chunks": 1})])
@pytest.mark.parametrize("wire", WIRES)
async def test_r8_2_a_whole_answer_stays_whole(wire: WireName, text: str) -> None:
    playing = in_test_mode(cancel_after_chunks=1)
    body = await body_of(playing, asking(wire, text, stream=False))
    dialect = DIALECTS[wire]
    assert dialect.hear(body, stream=False).finish == dialect.finish["stop"]
    assert playing.journal[0].outcome == "complete"


async def test_r8_2_the_setting_is_for_what_is_generated_alone() -> None:
    playing = Playing(scenario("s", says("one two three")), cancel_after_chunks=1)
    body = await body_of(playing, asking("openai", stream=True))
    assert ended("openai", body)


async def test_r8_2_a_fault_that_a_step_scripts_goes_before_the_setting() -> None:
    playing = Playing(scenario("s", FAULTY), cancel_after_chunks=3, words_per_second=0)
    body = await body_of(playing, asking("openai", stream=True))
    assert b'"error"' in body
    assert playing.journal[0].fault == "error_event"


async def test_r8_2_an_answer_generated_for_streams_alone_breaks_off_too() -> None:
    modes = {"streaming": LOREM["produce"], "non_streaming": {"text": "whole"}}
    playing = Playing(
        scenario("s", {"consume": False, "produce": modes}),
        cancel_after_chunks=1,
        words_per_second=0,
    )
    assert not ended("openai", await body_of(playing, asking("openai", stream=True)))
    whole: Call = asking("openai", stream=False)
    assert openai_whole(await body_of(playing, whole))[0].text == "whole"
