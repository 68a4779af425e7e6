"""Embeddings: always the same for a text, of length 1, and near for texts that are alike."""

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.wire.embedding import MAX_EMBEDDED_CHARS, unit_vector

CAT = "The cat sat on the mat."


def cosine(one: str, other: str, dimensions: int = 1536) -> float:
    pairs = zip(unit_vector(one, dimensions), unit_vector(other, dimensions), strict=True)
    return math.fsum(a * b for a, b in pairs)


@given(st.text(max_size=60), st.integers(1, 300))
def test_every_text_has_a_vector_of_length_1(text: str, dimensions: int) -> None:
    vector = unit_vector(text, dimensions)
    assert len(vector) == dimensions
    assert math.isclose(math.fsum(value * value for value in vector), 1.0)


@pytest.mark.parametrize("text", ["", " \n", CAT, "\ud800", "🙂", "日本語", "!?"])
def test_a_text_has_the_same_vector_in_every_process(text: str) -> None:
    code = f"from {unit_vector.__module__} import unit_vector; print(unit_vector({text!a}, 64))"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert said.strip() == str(unit_vector(text, 64))


def test_these_are_the_numbers() -> None:
    assert unit_vector("Hello", 3) == pytest.approx((-(0.2**0.5), 0.0, -(0.8**0.5)))


@pytest.mark.parametrize(
    ("near", "far"),
    [
        ("A cat sat on a mat.", "Quarterly revenue grew by a third."),
        ("The cats sat on the mats.", "A cat is an animal."),
        ("The dog sat on the mat.", "Who let the dogs out?"),
        ("THE CAT SAT ON THE MAT!", "The dog ran."),
    ],
)
def test_similar_text_has_a_nearer_vector(near: str, far: str) -> None:
    assert cosine(CAT, near) > cosine(CAT, far) + 0.1


def test_nothing_in_common_is_far_apart() -> None:
    assert abs(cosine("apple", "zinc")) < 0.1
    assert abs(cosine("", "apple")) < 0.1


def test_case_is_nothing_and_order_is_little() -> None:
    assert unit_vector("HELLO Straße", 256) == unit_vector("hello STRASSE", 256)
    assert 0.9 < cosine("dog bites man", "man bites dog") < 0.999


def test_texts_without_words_differ_too() -> None:
    assert cosine("🙂", "🙁") < 0.5
    assert cosine("?", "!") < 0.5


def test_words_that_share_their_beginning_are_near_without_spaces_between_them() -> None:
    assert cosine("東京の天気", "東京の天気は") > 0.4 > cosine("東京の天気", "大阪の食事")


def test_text_beyond_the_limit_does_not_change_the_vector() -> None:
    text = "word " * (MAX_EMBEDDED_CHARS // 5 + 1)
    assert unit_vector(text, 8) == unit_vector(text + "another", 8)
    assert unit_vector(text[: MAX_EMBEDDED_CHARS // 2], 8) != unit_vector(
        text[: MAX_EMBEDDED_CHARS // 2] + "another", 8
    )


def test_a_vector_whose_sums_cancel_out_has_length_1_all_the_same() -> None:
    assert unit_vector("x7", 1) == (1.0,)
