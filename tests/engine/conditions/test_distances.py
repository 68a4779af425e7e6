"""How far a text is from what a step asks for, in numbers."""

import pytest

from scenarios_app.engine.conditions.base import quote_last
from scenarios_app.engine.conditions.subjects import ComparedText, RequestReader, text_distance
from scenarios_app.engine.conditions.texts import TextCondition
from tests.engine.asking import ask, when

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
def test_texts_are_alike_by_the_pairs_of_letters_that_they_share(
    condition: TextCondition, text: str, distance: float
) -> None:
    assert text_distance(ComparedText(text), condition) == pytest.approx(distance)


@pytest.mark.parametrize(
    ("length", "condition", "distance"),
    [(20_000, T(contains="a"), 0.0), (20_001, T(contains="a"), 0.02), (20_001, T(), 0.0)],
)
def test_a_text_that_is_too_long_to_be_tested_is_near_at_best(
    length: int, condition: TextCondition, distance: float
) -> None:
    assert text_distance(ComparedText("a" * length), condition) == distance


def test_no_condition_is_far_from_nothing() -> None:
    assert when().distance(RequestReader(ask())) == 0.0


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ("", ""),
        ("abc", '"a", "b", "c"'),
        ("abcd", '"b", "c", "d" and 1 more'),
        ("abcde", '"c", "d", "e" and 2 more'),
    ],
)
def test_last_texts_are_quoted_with_the_number_of_others(texts: str, told: str) -> None:
    assert quote_last(texts) == told
