"""A fault strikes a plan where it should."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalResponse, Choice
from scenarios_app.engine.parts import (
    PartDelta,
)
from scenarios_app.engine.scenario import Fault, Pacing
from tests.engine.answers import INSIDE, MAX_RESPONSES, PACINGS, response_of
from tests.engine.producing.planned import AB, outline, planned


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (0, ["!"]),
        (1, ["+0", "0:a", "!"]),
        (2, ["+0", "0:a", "0: b", "!"]),
        (3, ["+0", "0:a", "0: b", "-0", "+1", "1:{}", "!"]),
        (4, ["+0", "0:a", "0: b", "-0", "+1", "1:{}", "-1", "!"]),
        (10**9, ["+0", "0:a", "0: b", "-0", "+1", "1:{}", "-1", "!"]),
    ],
)
def test_a_fault_strikes_after_so_many_chunks(after: int, expected: list[str]) -> None:
    fault = Fault("disconnect", after_chunks=after)
    assert outline(planned(response_of(AB), fault=fault)) == expected


def test_an_answer_without_content_is_struck_before_its_finish() -> None:
    timed = planned(response_of(Choice((), "stop")), fault=Fault("truncate"))
    assert outline(timed) == ["!"]


def test_a_fault_strikes_when_the_chunk_before_it_leaves() -> None:
    pacing = Pacing(first_ms=100, chunk_ms=10, words_per_chunk=1)
    at = [
        planned(response_of(AB), pacing, fault=Fault("disconnect", after_chunks=n))[-1].at
        for n in (0, 1, 2)
    ]
    assert at == pytest.approx([0.10, 0.10, 0.11])


def test_a_stall_puts_off_everything_after_it() -> None:
    pacing = Pacing(chunk_ms=10, words_per_chunk=1)
    steady = planned(response_of(AB), pacing)
    stalled = planned(response_of(AB), pacing, fault=Fault("stall", after_chunks=2, hold_ms=5000))
    assert outline(stalled[:4]) == ["+0", "0:a", "0: b", "!"]
    assert stalled[:3] == steady[:3]
    assert [at for at, _ in stalled[4:]] == pytest.approx([at + 5 for at, _ in steady[3:]])
    assert [event for _, event in stalled[4:]] == [event for _, event in steady[3:]]


def test_a_stall_after_more_chunks_than_there_are_comes_before_the_end() -> None:
    fault = Fault("stall", after_chunks=9, hold_ms=5)
    assert outline(planned(response_of(AB), fault=fault))[-3:] == ["-1", "!", "."]


@given(MAX_RESPONSES, PACINGS, st.booleans(), INSIDE)
def test_a_fault_keeps_a_prefix_of_the_stream(
    response: CanonicalResponse, pacing: Pacing, sequential: bool, fault: Fault
) -> None:
    whole = planned(response, pacing, sequential=sequential)
    struck = planned(response, pacing, sequential=sequential, fault=fault)
    border = struck.index(next(t for t in struck if t.event == fault))
    assert struck[:border] == whole[:border]
    rest = [event for _, event in struck[border + 1 :]]
    assert rest == ([event for _, event in whole[border:]] if fault.kind == "stall" else [])
    sent = sum(isinstance(event, PartDelta) for _, event in struck[:border])
    deltas = sum(isinstance(event, PartDelta) for _, event in whole)
    assert sent == min(fault.after_chunks, deltas)
    assert border < len(whole)
