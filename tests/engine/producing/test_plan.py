"""A plan holds the whole answer, well nested and in time."""

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
from tests.engine.answers import INSIDE, MAX_RESPONSES, PACINGS, response_of, text_of
from tests.engine.producing.planned import AB, outline, planned


def test_parts_come_in_order_and_the_finish_last() -> None:
    choice = Choice((ReasoningPart("hm"), *AB.parts), "stop_sequence", "END")
    timed = planned(response_of(choice))
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
    timed = planned(response_of(AB, AB))
    events = [event for _, event in timed if not isinstance(event, Fault)]
    assert [event.choice for event in events] == [0] * 8 + [1] * 8


def test_a_part_without_text_starts_and_ends() -> None:
    choice = Choice((TextPart(""), ToolCallPart("id", "f", "")), "tool_calls")
    assert outline(planned(response_of(choice))) == ["+0", "-0", "+1", "-1", "."]


INTERLEAVED = Choice(
    (TextPart("xy"), ToolCallPart("1", "f", "12"), ToolCallPart("2", "g", "34")),
    "tool_calls",
    chunks=tuple(Chunk(*c) for c in [(0, "xy"), (1, ""), (2, "3"), (1, "12"), (2, "4")]),
)


def test_scripted_chunks_stay_in_their_order() -> None:
    assert outline(planned(response_of(INTERLEAVED))) == [
        *("+0", "0:xy", "-0"),
        *("+1", "+2", "2:3", "1:12", "-1", "2:4", "-2"),
        ".",
    ]


def test_a_sequential_wire_gets_scripted_chunks_part_by_part() -> None:
    assert outline(planned(response_of(INTERLEAVED), sequential=True)) == [
        *("+0", "0:xy", "-0", "+1", "1:12", "-1", "+2", "2:3", "2:4", "-2"),
        ".",
    ]


def test_an_empty_chunk_is_a_delta_unless_it_opens_its_part() -> None:
    choice = Choice((TextPart("x"),), "stop", chunks=(Chunk(0, ""), Chunk(0, ""), Chunk(0, "x")))
    assert outline(planned(response_of(choice))) == ["+0", "0:", "0:x", "-0", "."]


@pytest.mark.parametrize("sequential", [False, True])
def test_scripted_events_say_of_which_choice_and_part_they_are(sequential: bool) -> None:
    silent = ReasoningPart("a b"), *INTERLEAVED.parts, ReasoningPart("c d")
    chunks = tuple(Chunk(chunk.part + 1, chunk.text) for chunk in INTERLEAVED.chunks or ())
    second = replace(INTERLEAVED, parts=silent, chunks=chunks)
    timed = planned(response_of(AB, second), sequential=sequential)
    parts = (AB.parts, silent)
    assert {"0:a", "0: b", "4:c", "4: d"} <= set(outline(timed))
    numbers = []
    for _, event in timed:
        assert not isinstance(event, Fault)
        numbers.append(event.choice)
        if not isinstance(event, Finish):
            assert event.part == parts[event.choice][event.index]
    assert numbers == sorted(numbers) and set(numbers) == {0, 1}


@pytest.mark.parametrize("jitter", [0.0, 0.5])
def test_a_sequential_wire_gets_them_so_at_any_pace(jitter: float) -> None:
    pacing = Pacing(chunk_ms=10, words_per_chunk=1, jitter=jitter)
    steady = outline(planned(response_of(INTERLEAVED), sequential=True))
    assert outline(planned(response_of(INTERLEAVED), pacing, sequential=True)) == steady


def test_how_long_an_answer_is_counts_its_parts_and_chunks_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning, "MAX_PREPARED_CHARS", 10)
    chunks = (Chunk(0, "abcd"), Chunk(0, ""), Chunk(0, ""), Chunk(0, ""), Chunk(0, ""))
    assert not planning.is_long(response_of(Choice((TextPart("abcd"),), "stop", chunks=chunks)))
    more = (*chunks, Chunk(0, ""))
    assert planning.is_long(response_of(Choice((TextPart("abcd"),), "stop", chunks=more)))
    parts = (TextPart("abcd"), *[TextPart("")] * 6)
    assert planning.is_long(response_of(Choice(parts, "stop")))
    assert not planning.is_long(response_of(Choice(parts[:-1], "stop")))


def test_a_part_without_chunks_comes_in_its_place() -> None:
    parts = (ReasoningPart("a b"), TextPart("x"), ToolCallPart("id", "f", "{}"))
    choice = Choice(parts, "stop", chunks=(Chunk(1, "x"),))
    assert outline(planned(response_of(choice))) == [
        *("+0", "0:a", "0: b", "-0", "+1", "1:x", "-1", "+2", "2:{}", "-2"),
        ".",
    ]


def test_an_unpaced_stream_is_due_when_its_first_chunk_is() -> None:
    assert {at for at, _ in planned(response_of(AB, AB), Pacing(first_ms=250))} == {0.25}


def test_pacing_runs_on_over_parts_and_choices() -> None:
    timed = planned(response_of(AB, AB), Pacing(first_ms=100, chunk_ms=10, words_per_chunk=1))
    deltas = [at for at, event in timed if isinstance(event, PartDelta)]
    assert deltas == pytest.approx([0.10, 0.11, 0.12, 0.13, 0.14, 0.15])
    assert timed[-1].at == pytest.approx(0.16)


def test_a_part_starts_with_its_first_delta() -> None:
    timed = planned(response_of(AB), Pacing(words_per_second=1, words_per_chunk=1))
    starts = [at for at, event in timed if isinstance(event, PartStart)]
    assert starts == [0, 2]


def test_long_answers_are_planned_like_short_ones() -> None:
    text = "word " * (MAX_PREPARED_CHARS // 5 + 1)
    deltas = outline(planned(response_of(Choice((TextPart(text),), "stop"))))
    assert deltas[:2] == ["+0", "0:word"]
    assert len(deltas) == MAX_PREPARED_CHARS // 5 + 1 + 3


def test_another_seed_jitters_another_way() -> None:
    pacing = Pacing(chunk_ms=10, words_per_chunk=1, jitter=0.5)
    one, other = (planned(response_of(AB), pacing, seed=seed) for seed in ("ab", "cd"))
    assert outline(one) == outline(other)
    assert [at for at, _ in one] != [at for at, _ in other]


def test_parts_of_the_same_text_are_not_mixed_up() -> None:
    for part in (TextPart("same"), ReasoningPart("same"), RefusalPart("same")):
        timed = planned(response_of(Choice((part,), "stop")))
        assert timed[0].event == PartStart(0, 0, part)


@given(MAX_RESPONSES, PACINGS, st.booleans())
def test_joined_deltas_are_the_whole_parts(
    response: CanonicalResponse, pacing: Pacing, sequential: bool
) -> None:
    joined: defaultdict[tuple[int, int], str] = defaultdict(str)
    for _, event in planned(response, pacing, sequential=sequential):
        if isinstance(event, PartStart):
            joined[event.choice, event.index] += ""
        if isinstance(event, PartDelta):
            joined[event.choice, event.index] += event.text
    assert joined == {
        (number, index): text_of(part)
        for number, choice in enumerate(response.choices)
        for index, part in enumerate(choice.parts)
    }


@given(MAX_RESPONSES, PACINGS, st.booleans())
def test_every_part_is_opened_once_filled_and_closed_once(
    response: CanonicalResponse, pacing: Pacing, sequential: bool
) -> None:
    finished: set[int] = set()
    opened: set[tuple[int, int]] = set()
    running: set[tuple[int, int]] = set()
    for _, event in planned(response, pacing, sequential=sequential):
        assert not isinstance(event, Fault)
        assert event.choice not in finished
        if isinstance(event, Finish):
            assert not running
            finished.add(event.choice)
            continue
        key = (event.choice, event.index)
        assert event.part == response.choices[event.choice].parts[event.index]
        if isinstance(event, PartStart):
            assert key not in opened
            assert not (running and sequential)
            opened.add(key)
            running.add(key)
        assert key in running
        if isinstance(event, PartEnd):
            running.remove(key)
    assert finished == set(range(len(response.choices)))


@given(MAX_RESPONSES, PACINGS, st.booleans(), st.none() | INSIDE)
def test_time_never_runs_backwards(
    response: CanonicalResponse, pacing: Pacing, sequential: bool, fault: Fault | None
) -> None:
    timed = planned(response, pacing, sequential=sequential, fault=fault)
    assert timed[0].at >= pacing.first_ms / 1000
    assert all(a.at <= b.at for a, b in pairwise(timed))


@given(MAX_RESPONSES, PACINGS, st.booleans(), st.none() | INSIDE, st.text())
def test_the_same_seed_gives_the_same_plan(
    response: CanonicalResponse, pacing: Pacing, sequential: bool, fault: Fault | None, seed: str
) -> None:
    first, second = (
        planned(response, pacing, sequential=sequential, fault=fault, seed=seed) for _ in range(2)
    )
    assert first == second
