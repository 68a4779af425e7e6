"""Embeddings: deterministic, of length 1, and near for similar texts."""

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.wire.embedding import MAX_EMBEDDED_CHARS, unit_vector

CAT_SENTENCE = "The cat sat on the mat."


def cosine_similarity(first: str, second: str, dimensions: int = 1536) -> float:
    pairs = zip(unit_vector(first, dimensions), unit_vector(second, dimensions), strict=True)
    return math.fsum(a * b for a, b in pairs)


@given(st.text(max_size=60), st.integers(1, 300))
def test_every_text_has_a_vector_of_length_1(text: str, dimensions: int) -> None:
    vector = unit_vector(text, dimensions)
    assert len(vector) == dimensions
    assert math.isclose(math.fsum(value * value for value in vector), 1.0)


@pytest.mark.parametrize("text", ["", " \n", CAT_SENTENCE, "\ud800", "🙂", "日本語", "!?"])
def test_a_text_has_the_same_vector_in_every_process(text: str) -> None:
    code = f"from {unit_vector.__module__} import unit_vector; print(unit_vector({text!a}, 64))"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert output.strip() == str(unit_vector(text, 64))


def test_vector_has_known_values() -> None:
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
    assert cosine_similarity(CAT_SENTENCE, near) > cosine_similarity(CAT_SENTENCE, far) + 0.1


def test_unrelated_texts_have_distant_vectors() -> None:
    assert abs(cosine_similarity("apple", "zinc")) < 0.1
    assert abs(cosine_similarity("", "apple")) < 0.1


def test_case_does_not_change_the_vector_and_order_changes_it_little() -> None:
    assert unit_vector("HELLO Straße", 256) == unit_vector("hello STRASSE", 256)
    assert 0.9 < cosine_similarity("dog bites man", "man bites dog") < 0.999


def test_texts_without_words_have_different_vectors() -> None:
    assert cosine_similarity("🙂", "🙁") < 0.5
    assert cosine_similarity("?", "!") < 0.5


def test_texts_without_spaces_are_near_if_they_share_their_beginning() -> None:
    assert (
        cosine_similarity("東京の天気", "東京の天気は")
        > 0.4
        > cosine_similarity("東京の天気", "大阪の食事")
    )


def test_text_beyond_the_limit_does_not_change_the_vector() -> None:
    text = "word " * (MAX_EMBEDDED_CHARS // 5 + 1)
    assert unit_vector(text, 8) == unit_vector(text + "another", 8)
    assert unit_vector(text[: MAX_EMBEDDED_CHARS // 2], 8) != unit_vector(
        text[: MAX_EMBEDDED_CHARS // 2] + "another", 8
    )


def test_vector_has_length_1_if_its_sums_cancel_out() -> None:
    assert unit_vector("x7", 1) == (1.0,)
