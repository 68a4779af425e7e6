"""A plan contains the whole answer, with nested parts and ascending times."""

from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalResponse, Choice
from scenarios_app.engine.parts import (
    Chunk,
    Finish,
    PartDelta,
    PartEnd,
    PartStart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.engine.producing import plan as planning
from scenarios_app.engine.producing.plan import MAX_PREPARED_CHARS
from scenarios_app.engine.scenario import Fault, Pacing
from tests.engine.producing.plan_outline import TEXT_AND_CALL, build_plan, outline
from tests.engine.response_strategies import PACINGS, RESPONSES, STREAM_FAULTS, response_of, text_of


def test_parts_come_in_order_and_the_finish_last() -> None:
    choice = Choice((ReasoningPart("hm"), *TEXT_AND_CALL.parts), "stop_sequence", "END")
    timed = build_plan(response_of(choice))
    assert [event for _, event in timed] == [
        PartStart(0, 0, choice.parts[0]),
        PartDelta(0, 0, choice.parts[0], "hm"),
        PartEnd(0, 0, choice.parts[0]),
        PartStart(0, 1, choice.parts[1]),
        PartDelta(0, 1, choice.parts[1], "a"),
        PartDelta(0, 1, choice.parts[1], " b"),
        PartEnd(0, 1, choice.parts[1]),
        PartStart(0, 2, choice.parts[2]),
        PartDelta(0, 2, choice.parts[2], "{}"),
        PartEnd(0, 2, choice.parts[2]),
        Finish(0, "stop_sequence", "END"),
    ]


def test_choices_come_one_after_another() -> None:
    timed = build_plan(response_of(TEXT_AND_CALL, TEXT_AND_CALL))
    events = [event for _, event in timed if not isinstance(event, Fault)]
    assert [event.choice for event in events] == [0] * 8 + [1] * 8


def test_a_part_without_text_starts_and_ends() -> None:
    choice = Choice((TextPart(""), ToolCallPart("id", "f", "")), "tool_calls")
    assert outline(build_plan(response_of(choice))) == ["+0", "-0", "+1", "-1", "."]


INTERLEAVED = Choice(
    (TextPart("xy"), ToolCallPart("1", "f", "12"), ToolCallPart("2", "g", "34")),
    "tool_calls",
    chunks=tuple(Chunk(*c) for c in [(0, "xy"), (1, ""), (2, "3"), (1, "12"), (2, "4")]),
)


def test_scripted_chunks_stay_in_their_order() -> None:
    assert outline(build_plan(response_of(INTERLEAVED))) == [
        *("+0", "0:xy", "-0"),
        *("+1", "+2", "2:3", "1:12", "-1", "2:4", "-2"),
        ".",
    ]


def test_a_sequential_wire_gets_scripted_chunks_part_by_part() -> None:
    assert outline(build_plan(response_of(INTERLEAVED), sequential=True)) == [
        *("+0", "0:xy", "-0", "+1", "1:12", "-1", "+2", "2:3", "2:4", "-2"),
        ".",
    ]


def test_an_empty_chunk_is_a_delta_unless_it_opens_its_part() -> None:
    choice = Choice((TextPart("x"),), "stop", chunks=(Chunk(0, ""), Chunk(0, ""), Chunk(0, "x")))
    assert outline(build_plan(response_of(choice))) == ["+0", "0:", "0:x", "-0", "."]


@pytest.mark.parametrize("sequential", [False, True])
def test_scripted_events_name_their_choice_and_part(sequential: bool) -> None:
    parts_with_reasoning = ReasoningPart("a b"), *INTERLEAVED.parts, ReasoningPart("c d")
    chunks = tuple(Chunk(chunk.part + 1, chunk.text) for chunk in INTERLEAVED.chunks or ())
    second_choice = replace(INTERLEAVED, parts=parts_with_reasoning, chunks=chunks)
    timed = build_plan(response_of(TEXT_AND_CALL, second_choice), sequential=sequential)
    parts = (TEXT_AND_CALL.parts, parts_with_reasoning)
    assert {"0:a", "0: b", "4:c", "4: d"} <= set(outline(timed))
    numbers = []
    for _, event in timed:
        assert not isinstance(event, Fault)
        numbers.append(event.choice)
        if not isinstance(event, Finish):
            assert event.part == parts[event.choice][event.index]
    assert numbers == sorted(numbers) and set(numbers) == {0, 1}


@pytest.mark.parametrize("jitter", [0.0, 0.5])
def test_sequential_order_does_not_depend_on_pacing(jitter: float) -> None:
    pacing = Pacing(chunk_ms=10, words_per_chunk=1, jitter=jitter)
    unpaced_outline = outline(build_plan(response_of(INTERLEAVED), sequential=True))
    assert outline(build_plan(response_of(INTERLEAVED), pacing, sequential=True)) == unpaced_outline


def test_length_of_an_answer_counts_its_parts_and_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning, "MAX_PREPARED_CHARS", 10)
    chunks = (Chunk(0, "abcd"), Chunk(0, ""), Chunk(0, ""), Chunk(0, ""), Chunk(0, ""))
    assert not planning.is_long(response_of(Choice((TextPart("abcd"),), "stop", chunks=chunks)))
    more_chunks = (*chunks, Chunk(0, ""))
    assert planning.is_long(response_of(Choice((TextPart("abcd"),), "stop", chunks=more_chunks)))
    parts = (TextPart("abcd"), *[TextPart("")] * 6)
    assert planning.is_long(response_of(Choice(parts, "stop")))
    assert not planning.is_long(response_of(Choice(parts[:-1], "stop")))


def test_part_without_chunks_keeps_its_position() -> None:
    parts = (ReasoningPart("a b"), TextPart("x"), ToolCallPart("id", "f", "{}"))
    choice = Choice(parts, "stop", chunks=(Chunk(1, "x"),))
    assert outline(build_plan(response_of(choice))) == [
        *("+0", "0:a", "0: b", "-0", "+1", "1:x", "-1", "+2", "2:{}", "-2"),
        ".",
    ]


def test_unpaced_stream_is_due_with_its_first_chunk() -> None:
    assert {
        at for at, _ in build_plan(response_of(TEXT_AND_CALL, TEXT_AND_CALL), Pacing(first_ms=250))
    } == {0.25}


def test_pacing_runs_on_over_parts_and_choices() -> None:
    timed = build_plan(
        response_of(TEXT_AND_CALL, TEXT_AND_CALL),
        Pacing(first_ms=100, chunk_ms=10, words_per_chunk=1),
    )
    deltas = [at for at, event in timed if isinstance(event, PartDelta)]
    assert deltas == pytest.approx([0.10, 0.11, 0.12, 0.13, 0.14, 0.15])
    assert timed[-1].at == pytest.approx(0.16)


def test_a_part_starts_with_its_first_delta() -> None:
    timed = build_plan(response_of(TEXT_AND_CALL), Pacing(words_per_second=1, words_per_chunk=1))
    starts = [at for at, event in timed if isinstance(event, PartStart)]
    assert starts == [0, 2]


def test_long_answers_are_planned_like_short_ones() -> None:
    text = "word " * (MAX_PREPARED_CHARS // 5 + 1)
    deltas = outline(build_plan(response_of(Choice((TextPart(text),), "stop"))))
    assert deltas[:2] == ["+0", "0:word"]
    assert len(deltas) == MAX_PREPARED_CHARS // 5 + 1 + 3


def test_another_seed_gives_other_times() -> None:
    pacing = Pacing(chunk_ms=10, words_per_chunk=1, jitter=0.5)
    first_plan, second_plan = (
        build_plan(response_of(TEXT_AND_CALL), pacing, seed=seed) for seed in ("ab", "cd")
    )
    assert outline(first_plan) == outline(second_plan)
    assert [at for at, _ in first_plan] != [at for at, _ in second_plan]


def test_parts_of_the_same_text_are_not_mixed_up() -> None:
    for part in (TextPart("same"), ReasoningPart("same"), RefusalPart("same")):
        timed = build_plan(response_of(Choice((part,), "stop")))
        assert timed[0].event == PartStart(0, 0, part)


@given(RESPONSES, PACINGS, st.booleans())
def test_joined_deltas_are_the_whole_parts(
    response: CanonicalResponse, pacing: Pacing, sequential: bool
) -> None:
    joined_texts: defaultdict[tuple[int, int], str] = defaultdict(str)
    for _, event in build_plan(response, pacing, sequential=sequential):
        if isinstance(event, PartStart):
            joined_texts[event.choice, event.index] += ""
        if isinstance(event, PartDelta):
            joined_texts[event.choice, event.index] += event.text
    assert joined_texts == {
        (number, index): text_of(part)
        for number, choice in enumerate(response.choices)
        for index, part in enumerate(choice.parts)
    }


@given(RESPONSES, PACINGS, st.booleans())
def test_every_part_is_opened_once_filled_and_closed_once(
    response: CanonicalResponse, pacing: Pacing, sequential: bool
) -> None:
    finished_choices: set[int] = set()
    started: set[tuple[int, int]] = set()
    open_parts: set[tuple[int, int]] = set()
    for _, event in build_plan(response, pacing, sequential=sequential):
        assert not isinstance(event, Fault)
        assert event.choice not in finished_choices
        if isinstance(event, Finish):
            assert not open_parts
            finished_choices.add(event.choice)
            continue
        key = (event.choice, event.index)
        assert event.part == response.choices[event.choice].parts[event.index]
        if isinstance(event, PartStart):
            assert key not in started
            assert not (open_parts and sequential)
            started.add(key)
            open_parts.add(key)
        assert key in open_parts
        if isinstance(event, PartEnd):
            open_parts.remove(key)
    assert finished_choices == set(range(len(response.choices)))


@given(RESPONSES, PACINGS, st.booleans(), st.none() | STREAM_FAULTS)
def test_time_never_runs_backwards(
    response: CanonicalResponse, pacing: Pacing, sequential: bool, fault: Fault | None
) -> None:
    timed = build_plan(response, pacing, sequential=sequential, fault=fault)
    assert timed[0].at >= pacing.first_ms / 1000
    assert all(a.at <= b.at for a, b in pairwise(timed))


@given(RESPONSES, PACINGS, st.booleans(), st.none() | STREAM_FAULTS, st.text())
def test_the_same_seed_gives_the_same_plan(
    response: CanonicalResponse, pacing: Pacing, sequential: bool, fault: Fault | None, seed: str
) -> None:
    first, second = (
        build_plan(response, pacing, sequential=sequential, fault=fault, seed=seed)
        for _ in range(2)
    )
    assert first == second
