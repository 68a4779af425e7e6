"""Test mode's answer: lorem of a length that depends on the message, reasoning, and an echo."""

import hashlib
import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scenarios_app.engine.parts import Chunk, ReasoningPart, TextPart
from scenarios_app.engine.producing.lorem import (
    lorem_answer,
    make_lorem,
    split_pieces,
    word_count,
)
from scenarios_app.engine.scenario import ScriptedAnswer, ScriptedChoice
from scenarios_app.engine.schemas.scalars import WORDS

MESSAGES = st.text(st.sampled_from("ab \n\té💡\u2028") | st.characters(codec="utf-8"), max_size=60)
MESSAGES_WITH_REASON = st.tuples(MESSAGES, MESSAGES).map("\nReason:".join)
SPACED_TEXTS = st.text(st.sampled_from("a \n"), max_size=80)


def only_choice(answer: ScriptedAnswer) -> ScriptedChoice:
    (choice,) = answer.choices
    return choice


def answer_text(message: str) -> str:
    (text,) = (p.text for p in only_choice(lorem_answer(message)).parts if isinstance(p, TextPart))
    return text


def reasoning_text(message: str) -> str | None:
    parts = only_choice(lorem_answer(message)).parts
    return next((p.text for p in parts if isinstance(p, ReasoningPart)), None)


def chunk_texts(answer: ScriptedAnswer, part: int) -> list[str]:
    return [chunk.text for chunk in only_choice(answer).chunks or () if chunk.part == part]


@pytest.mark.parametrize(
    ("message", "expected_count"),
    [("Hello", 29), ("", 360), ("What is the weather in Seattle?", 198)],
)
def test_r4_1_known_messages_have_their_known_number_of_words(
    message: str, expected_count: int
) -> None:
    assert word_count(message) == expected_count
    assert len(answer_text(message).removesuffix(message).split()) == expected_count


@given(MESSAGES | MESSAGES_WITH_REASON)
def test_r4_1_lorem_has_5_to_500_words_by_the_hash_of_the_message(message: str) -> None:
    first_four = hashlib.sha256(message.encode("utf-8")).digest()[:4]
    expected = 5 + sum(byte << (8 * i) for i, byte in enumerate(first_four)) % 496
    before_echo = answer_text(message)[: -len(message)] if message else answer_text(message)
    assert 5 <= expected <= 500
    assert len(before_echo.split()) == expected


def test_words_are_latin_and_the_same_in_every_process() -> None:
    assert answer_text("Hello").startswith("dolore id velit eiusmod voluptate labore cillum cillum")
    # Each of the 32 bytes of a hash gives a word: these are of the third hash.
    assert make_lorem("Hello", 70).endswith(" amet do consequat proident labore voluptate")
    assert set(answer_text("Hello").split()) <= {*WORDS, "Hello"}
    assert all(re.fullmatch("[a-z]+", word) for word in WORDS)


@given(MESSAGES, st.integers(0, 60))
def test_lorem_has_the_requested_number_of_words(key: str, length: int) -> None:
    assert len(make_lorem(key, length).split()) == length


@given(MESSAGES | MESSAGES_WITH_REASON)
@example("two  spaces, a tab\t and an end \n")
@example("   ")
def test_r5_1_the_verbatim_message_ends_the_text_and_the_thought(message: str) -> None:
    assert answer_text(message).endswith(f" {message}" if message else "")
    reasoning = reasoning_text(message)
    assert reasoning is None or reasoning.endswith(message)


@given(MESSAGES)
def test_r5_2_the_echo_does_not_count(message: str) -> None:
    expected = word_count(message) + len(message.split())
    assert len(answer_text(message).split()) == expected


@pytest.mark.parametrize(
    ("message", "reasoning"),
    [
        ("Hello\nReason: because I ask", "because I ask Hello\nReason: because I ask"),
        ("Hello\nReason:because", "because Hello\nReason:because"),
        ("A\nReason: one\nReason: two", "one\nReason: two A\nReason: one\nReason: two"),
        ("Hello\nReason: ", "Hello\nReason: "),
        ("Hello", None),
        ("Reason: no line before", None),
        ("Hello\nreason: another case", None),
        ("Hello Reason: the same line", None),
    ],
)
def test_r3_3_reasoning_is_the_text_after_the_first_reason(
    message: str, reasoning: str | None
) -> None:
    assert reasoning_text(message) == reasoning


@given(MESSAGES_WITH_REASON)
def test_r3_1_reasoning_comes_before_the_text(message: str) -> None:
    choice = only_choice(lorem_answer(message))
    assert [type(part) for part in choice.parts] == [ReasoningPart, TextPart]
    order = [chunk.part for chunk in choice.chunks or ()]
    assert order == sorted(order)


@given(MESSAGES | MESSAGES_WITH_REASON)
def test_joined_chunks_are_the_exact_parts(message: str) -> None:
    answer = lorem_answer(message)
    for index, part in enumerate(only_choice(answer).parts):
        assert "".join(chunk_texts(answer, index)) == part.text


@given(MESSAGES | MESSAGES_WITH_REASON)
def test_r4_3_chunks_hold_3_to_10_words_but_for_the_last_of_lorem_and_of_echo(
    message: str,
) -> None:
    answer = lorem_answer(message)
    counts = [
        len(chunk.split()) for chunk in chunk_texts(answer, len(only_choice(answer).parts) - 1)
    ]
    lorem_counts, echo_counts = split_at(counts, word_count(message))
    for run in (lorem_counts, echo_counts):
        assert all(3 <= count <= 10 for count in run[:-1])
        assert all(count <= 10 for count in run)


def split_at(counts: Sequence[int], lorem_words: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return the word counts of the lorem's chunks and of the echo's; no chunk belongs to both."""
    for end in range(len(counts) + 1):
        if sum(counts[:end]) == lorem_words:
            return counts[:end], counts[end:]
    raise AssertionError("a chunk holds the end of the lorem and the beginning of the echo")


def test_r4_3_chunk_sizes_vary_and_are_drawn_from_the_message() -> None:
    def chunk_sizes(message: str) -> list[int]:
        return [len(chunk.split()) for chunk in chunk_texts(lorem_answer(message), 0)]

    assert set(chunk_sizes("")[:-1]) == set(range(3, 11))
    assert chunk_sizes("Hello") == chunk_sizes("Hello")
    assert chunk_sizes("Hello")[:4] != chunk_sizes("Hallo")[:4]


@given(MESSAGES, SPACED_TEXTS)
@example("", " ")
@example("", "a ")
@example("", "")
def test_pieces_keep_every_space_and_lose_no_word(key: str, text: str) -> None:
    pieces = list(split_pieces(key, text))
    assert "".join(pieces) == text
    assert all(pieces)
    assert all(3 <= len(piece.split()) <= 10 for piece in pieces[:-1])


def test_a_text_without_a_word_is_one_piece() -> None:
    assert list(split_pieces("key", "  ")) == ["  "]
    assert list(split_pieces("key", "")) == []


def test_answer_to_an_empty_message_is_lorem_only() -> None:
    choice = only_choice(lorem_answer(""))
    assert len(choice.parts) == 1
    assert answer_text("") == answer_text("").strip()
    assert all(isinstance(chunk, Chunk) for chunk in choice.chunks or ())
