"""Distances of texts from conditions, as numbers."""

import pytest

from scenarios_app.engine.conditions.base import quote_last
from scenarios_app.engine.conditions.subjects import ComparedText, RequestReader, text_distance
from scenarios_app.engine.conditions.texts import TextCondition
from tests.engine.match_builders import build_match, chat_request

T = TextCondition


@pytest.mark.parametrize(
    ("condition", "text", "distance"),
    [
        # Two of " a", "ab" and "b " are among the four of the text, or of the other text.
        (T(equals="ab"), "abx", 1 - 2 / 3.5),
        (T(contains="ab"), "axb", 1 - 2 / 3),
        (T(regex=r"ab\d"), "axb", 1 - 2 / 3),
        # One of two, for a beginning that is shorter.
        (T(startswith="ab"), "a", 1 - 1 / 2.5),
        (T(regex=r"^\d+$"), "a  b", 1.0),
        (T(contains="ab", startswith="zz"), "axb", (1 - 2 / 3 + 1) / 2),
    ],
)
def test_distance_of_texts_depends_on_shared_letter_pairs(
    condition: TextCondition, text: str, distance: float
) -> None:
    assert text_distance(ComparedText(text), condition) == pytest.approx(distance)


@pytest.mark.parametrize(
    ("length", "condition", "distance"),
    [(20_000, T(contains="a"), 0.0), (20_001, T(contains="a"), 0.02), (20_001, T(), 0.0)],
)
def test_text_too_long_to_test_has_a_distance_above_zero(
    length: int, condition: TextCondition, distance: float
) -> None:
    assert text_distance(ComparedText("a" * length), condition) == distance


def test_match_without_conditions_has_distance_zero() -> None:
    assert build_match().distance(RequestReader(chat_request())) == 0.0


@pytest.mark.parametrize(
    ("texts", "summary"),
    [
        ("", ""),
        ("abc", '"a", "b", "c"'),
        ("abcd", '"b", "c", "d" and 1 more'),
        ("abcde", '"c", "d", "e" and 2 more'),
    ],
)
def test_last_texts_are_quoted_with_the_number_of_others(texts: str, summary: str) -> None:
    assert quote_last(texts) == summary
