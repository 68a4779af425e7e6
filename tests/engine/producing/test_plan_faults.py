"""Faults in plans of answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalResponse, Choice
from scenarios_app.engine.parts import (
    PartDelta,
)
from scenarios_app.engine.scenario import Fault, Pacing
from tests.engine.producing.plan_outline import TEXT_AND_CALL, build_plan, outline
from tests.engine.response_strategies import PACINGS, RESPONSES, STREAM_FAULTS, response_of


@pytest.mark.parametrize(
    ("after_chunks", "expected"),
    [
        (0, ["!"]),
        (1, ["+0", "0:a", "!"]),
        (2, ["+0", "0:a", "0: b", "!"]),
        (3, ["+0", "0:a", "0: b", "-0", "+1", "1:{}", "!"]),
        (4, ["+0", "0:a", "0: b", "-0", "+1", "1:{}", "-1", "!"]),
        (10**9, ["+0", "0:a", "0: b", "-0", "+1", "1:{}", "-1", "!"]),
    ],
)
def test_fault_strikes_after_its_number_of_chunks(after_chunks: int, expected: list[str]) -> None:
    fault = Fault("disconnect", after_chunks=after_chunks)
    assert outline(build_plan(response_of(TEXT_AND_CALL), fault=fault)) == expected


def test_fault_of_an_empty_answer_strikes_before_its_finish() -> None:
    timed = build_plan(response_of(Choice((), "stop")), fault=Fault("truncate"))
    assert outline(timed) == ["!"]


def test_a_fault_strikes_when_the_chunk_before_it_leaves() -> None:
    pacing = Pacing(first_ms=100, chunk_ms=10, words_per_chunk=1)
    fault_times = [
        build_plan(response_of(TEXT_AND_CALL), pacing, fault=Fault("disconnect", after_chunks=n))[
            -1
        ].at
        for n in (0, 1, 2)
    ]
    assert fault_times == pytest.approx([0.10, 0.10, 0.11])


def test_stall_delays_everything_after_it() -> None:
    pacing = Pacing(chunk_ms=10, words_per_chunk=1)
    plan = build_plan(response_of(TEXT_AND_CALL), pacing)
    stalled_plan = build_plan(
        response_of(TEXT_AND_CALL), pacing, fault=Fault("stall", after_chunks=2, hold_ms=5000)
    )
    assert outline(stalled_plan[:4]) == ["+0", "0:a", "0: b", "!"]
    assert stalled_plan[:3] == plan[:3]
    assert [at for at, _ in stalled_plan[4:]] == pytest.approx([at + 5 for at, _ in plan[3:]])
    assert [event for _, event in stalled_plan[4:]] == [event for _, event in plan[3:]]


def test_stall_after_more_chunks_than_the_answer_has_strikes_before_its_end() -> None:
    fault = Fault("stall", after_chunks=9, hold_ms=5)
    assert outline(build_plan(response_of(TEXT_AND_CALL), fault=fault))[-3:] == ["-1", "!", "."]


@given(RESPONSES, PACINGS, st.booleans(), STREAM_FAULTS)
def test_a_fault_keeps_a_prefix_of_the_stream(
    response: CanonicalResponse, pacing: Pacing, sequential: bool, fault: Fault
) -> None:
    plan = build_plan(response, pacing, sequential=sequential)
    faulty_plan = build_plan(response, pacing, sequential=sequential, fault=fault)
    fault_index = faulty_plan.index(next(t for t in faulty_plan if t.event == fault))
    assert faulty_plan[:fault_index] == plan[:fault_index]
    remaining_events = [event for _, event in faulty_plan[fault_index + 1 :]]
    assert remaining_events == (
        [event for _, event in plan[fault_index:]] if fault.kind == "stall" else []
    )
    sent_deltas = sum(isinstance(event, PartDelta) for _, event in faulty_plan[:fault_index])
    all_deltas = sum(isinstance(event, PartDelta) for _, event in plan)
    assert sent_deltas == min(fault.after_chunks, all_deltas)
    assert fault_index < len(plan)
