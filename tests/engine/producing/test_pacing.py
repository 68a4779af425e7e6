"""Pacing: deltas join to the exact text, and their times never drift or change order."""

from collections.abc import Iterable, Iterator
from itertools import count, pairwise, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.parts import ReasoningPart, RefusalPart, TextPart, ToolCallPart
from scenarios_app.engine.producing.plan import MAX_PREPARED_CHARS, Schedule, deltas_of
from scenarios_app.engine.producing.produce import Seed
from scenarios_app.engine.scenario import Pacing

NO_DRAWS = iter(())
TEXT = st.text(st.sampled_from("ab \n\t\u2003é💡"), max_size=60) | st.text(max_size=60)


def delta_times(deltas: Iterable[str], pacing: Pacing, draws: Iterator[float]) -> list[float]:
    """Return the time of each delta in seconds, and the end of the stream."""
    schedule = Schedule(pacing, draws)
    return [*map(schedule.next_time, deltas), schedule.end]


@pytest.mark.parametrize(
    ("text", "words_per_chunk", "deltas"),
    [
        ("one two three", 1, ["one", " two", " three"]),
        ("one two three", 2, ["one two", " three"]),
        ("one two three", 3, ["one two three"]),
        ("a b c", 2, ["a b", " c"]),
        ("one two three", 10**12, ["one two three"]),
        ("  one\n\ntwo ", 1, ["  one", "\n\ntwo "]),
        ("  ", 1, ["  "]),
        (" ", 1, [" "]),
        ("", 5, []),
        ("日本語 です", 1, ["日本語", " です"]),
    ],
)
def test_text_is_cut_between_words(text: str, words_per_chunk: int, deltas: list[str]) -> None:
    assert list(deltas_of(TextPart(text), words_per_chunk)) == deltas


@pytest.mark.parametrize("unit", ["a", " ", "word ", "\u2003é "])
def test_long_text_is_cut_like_a_short_one(unit: str) -> None:
    short_text, long_text = (unit * (MAX_PREPARED_CHARS // len(unit) + extra) for extra in (0, 1))
    deltas_by_text = [list(deltas_of(TextPart(text), 1)) for text in (short_text, long_text)]
    assert ["".join(deltas) for deltas in deltas_by_text] == [short_text, long_text]
    word_counts = [len(text.split()) or 1 for text in (short_text, long_text)]
    assert list(map(len, deltas_by_text)) == word_counts


def test_reasoning_and_refusals_are_cut_like_text() -> None:
    expected = deltas_of(TextPart("one two three"), 2)
    assert deltas_of(ReasoningPart("one two three"), 2) == expected
    assert deltas_of(RefusalPart("one two three"), 2) == expected


@given(TEXT, st.integers(1, 8))
def test_deltas_of_text_have_the_number_of_words_and_join_to_it(
    text: str, words_per_chunk: int
) -> None:
    deltas = deltas_of(TextPart(text), words_per_chunk)
    assert "".join(deltas) == text
    assert all(deltas)
    assert [len(d.split()) for d in deltas[:-1]] == [words_per_chunk] * len(deltas[:-1])
    assert all(d.split() for d in deltas[:-1])


@pytest.mark.parametrize(
    ("arguments", "deltas"),
    [
        ("", []),
        ("{}", ["{}"]),
        ("1", ["1"]),
        ("[]", ["[", "]"]),
        ('{"a":1}', ['{"a"', ":1}"]),
        ("x" * 25, ["x" * 9, "x" * 9, "x" * 7]),
    ],
)
def test_arguments_come_in_two_fragments_or_more(arguments: str, deltas: list[str]) -> None:
    assert list(deltas_of(ToolCallPart("id", "f", arguments), 2)) == deltas


@given(TEXT, st.integers(1, 8))
def test_fragments_of_arguments_are_small_and_join_to_them(
    arguments: str, words_per_chunk: int
) -> None:
    fragments = deltas_of(ToolCallPart("id", "f", arguments), words_per_chunk)
    assert "".join(fragments) == arguments
    assert all(fragments)
    assert max(map(len, fragments), default=0) <= max(words_per_chunk * 6, 2)
    assert len(fragments) >= 2 or len(arguments) < 2 or arguments == "{}"


def test_words_per_second_count_the_words_before_a_delta() -> None:
    deltas = ["one two", " three", "  ", "four five six"]
    times = delta_times(deltas, Pacing(first_ms=500, words_per_second=10), NO_DRAWS)
    assert times == pytest.approx([0.5, 0.7, 0.8, 0.8, 1.1])


def test_chunk_ms_is_the_time_between_deltas() -> None:
    times = delta_times(["a", "b c d", "e"], Pacing(first_ms=10, chunk_ms=20), NO_DRAWS)
    assert times == pytest.approx([0.01, 0.03, 0.05, 0.07])


def test_chunk_ms_overrides_words_per_second() -> None:
    times = delta_times(["a b"], Pacing(chunk_ms=20, words_per_second=1), NO_DRAWS)
    assert times == pytest.approx([0, 0.02])


def test_time_does_not_drift_over_a_long_stream() -> None:
    times = delta_times(["word"] * 30_000, Pacing(words_per_second=50), NO_DRAWS)
    assert times[-1] == 600


@pytest.mark.parametrize(
    ("draw", "expected"),
    [(0.0, [0, 1, 2, 3]), (0.5, [0.25, 1.25, 2.25, 3])],
)
def test_jitter_delays_by_a_share_of_the_gap(draw: float, expected: list[float]) -> None:
    pacing = Pacing(chunk_ms=1000, jitter=0.5)
    assert delta_times(["a", "b", "c"], pacing, repeat(draw)) == expected


def test_jitter_is_a_share_of_the_time_that_the_words_take() -> None:
    pacing = Pacing(words_per_second=2, jitter=0.5)
    assert delta_times(["a", "b c"], pacing, repeat(0.5)) == [0.125, 0.75, 1.5]


@pytest.mark.parametrize(
    ("pacing", "expected"),
    [
        (Pacing(chunk_ms=1000, jitter=0.5), [0, 1.25, 2.375, 3]),
        (Pacing(words_per_second=1, jitter=0.5), [0, 1.5, 3.375, 4]),
    ],
)
def test_jitter_draws_once_for_each_delta(pacing: Pacing, expected: list[float]) -> None:
    draws = iter([0.0, 0.5, 0.75, 0.25])
    assert delta_times(["a", "b c", "d"], pacing, draws) == expected
    assert next(draws) == 0.25


def test_rounding_does_not_reorder_deltas() -> None:
    # Here the third time plus the gap rounds to more than the fourth.
    steady_times = delta_times(["a"] * 5, Pacing(chunk_ms=17), NO_DRAWS)
    late_times = delta_times(["a"] * 5, Pacing(chunk_ms=17, jitter=1), repeat(1 - 2**-53))
    assert late_times[2] == steady_times[3]


def test_pacing_without_jitter_draws_no_number() -> None:
    draws = count()
    delta_times(["a"], Pacing(chunk_ms=5), draws)
    assert next(draws) == 0


PACINGS = st.builds(
    Pacing,
    first_ms=st.integers(0, 5000),
    words_per_second=st.floats(0.01, 10_000),
    chunk_ms=st.integers(0, 5000),
    jitter=st.floats(0, 1),
)


@given(st.lists(TEXT, max_size=40), PACINGS, st.text())
def test_jitter_keeps_every_delta_between_its_neighbours(
    deltas: list[str], pacing: Pacing, seed: str
) -> None:
    steady = delta_times(
        deltas, Pacing(pacing.first_ms, pacing.words_per_second, pacing.chunk_ms), NO_DRAWS
    )
    times = delta_times(deltas, pacing, Seed(seed).draws())
    assert len(times) == len(deltas) + 1
    assert all(a <= b for a, b in pairwise(times))
    assert all(at <= late for at, late in zip(steady, times, strict=True))
    assert all(late <= after for late, after in zip(times, steady[1:], strict=False))
    assert times == delta_times(deltas, pacing, Seed(seed).draws())
