"""Answers are cut at token limits and stop sequences."""

from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.engine.parts import Chunk, ReasoningPart, TextPart, ToolCallPart
from scenarios_app.engine.producing.auto import cut_answer
from scenarios_app.engine.producing.lorem import lorem_answer
from scenarios_app.engine.scenario import ScriptedChoice
from tests.support.hypothesis_profiles import example_count

TEXT = ScriptedChoice((TextPart("one two three"),))
CALL = ScriptedChoice((TextPart("look"), ToolCallPart("", "find", '{"a":"bcdef"}')))


def test_text_ends_before_the_first_stop_sequence() -> None:
    cut_choice = cut_answer(TEXT, max_tokens=None, stop=("", "three", "two", "never"))
    assert cut_choice == ScriptedChoice((TextPart("one "),), None, "stop_sequence", "two")
    assert cut_answer(TEXT, max_tokens=None, stop=("", "never")) == TEXT
    assert cut_answer(TEXT, max_tokens=None, stop=("one",)).parts == ()
    assert cut_answer(TEXT, max_tokens=None, stop=("n",)).parts == (TextPart("o"),)
    assert cut_answer(TEXT, max_tokens=None, stop=("e",)).parts == (TextPart("on"),)


def test_arguments_and_reasoning_ignore_stop_sequences() -> None:
    assert cut_answer(CALL, max_tokens=None, stop=("bcd",)) == CALL
    choice = ScriptedChoice((ReasoningPart("XXXX"), TextPart("go")))
    assert cut_answer(choice, max_tokens=None, stop=("XX",)) == choice


def test_an_answer_ends_at_its_last_token() -> None:
    assert cut_answer(TEXT, max_tokens=2, stop=()) == ScriptedChoice(
        (TextPart("one two "),), finish_reason="length"
    )
    assert cut_answer(TEXT, max_tokens=4, stop=()) == TEXT
    exact = ScriptedChoice((TextPart("one two."),))
    assert cut_answer(exact, max_tokens=2, stop=()) == exact
    assert cut_answer(TEXT, max_tokens=0, stop=()).parts == ()
    assert cut_answer(TEXT, max_tokens=-1, stop=()).finish_reason == "length"
    assert cut_answer(CALL, max_tokens=3, stop=()).parts == (
        TextPart("look"),
        ToolCallPart("", "find", '{"a"'),
    )
    assert cut_answer(CALL, max_tokens=2, stop=()).parts == (TextPart("look"),)


def test_length_limit_wins_over_a_later_stop_sequence() -> None:
    cut_choice = cut_answer(TEXT, max_tokens=1, stop=("three",))
    assert (cut_choice.parts, cut_choice.finish_reason, cut_choice.stop_sequence) == (
        (TextPart("one "),),
        "length",
        None,
    )


def test_chunks_are_cut_where_their_parts_are() -> None:
    chunks = (Chunk(0, "Why?"), Chunk(1, "One "), Chunk(1, "two "), Chunk(1, "three"))
    choice = ScriptedChoice((ReasoningPart("Why?"), TextPart("One two three")), chunks)
    cut_inside_chunk = cut_answer(choice, max_tokens=None, stop=("wo",))
    assert cut_inside_chunk.parts == (ReasoningPart("Why?"), TextPart("One t"))
    assert cut_inside_chunk.chunks == (*chunks[:2], Chunk(1, "t"))
    cut_between_chunks = cut_answer(choice, max_tokens=None, stop=("two",))
    assert cut_between_chunks.parts == (ReasoningPart("Why?"), TextPart("One "))
    assert cut_between_chunks.chunks == chunks[:2]
    cut_before_text = cut_answer(choice, max_tokens=None, stop=("One",))
    assert cut_before_text.parts == (ReasoningPart("Why?"),)
    assert cut_before_text.chunks == chunks[:1]


@settings(max_examples=example_count(500))
@given(
    st.sampled_from(["Hello", "Why?\nReason: to know", ""]),
    st.integers(0, 900),
    st.sampled_from([(), (" ut ",), ("Why", "to")]),
)
def test_chunks_of_a_cut_answer_join_to_its_parts(
    message: str, tokens: int, stop: tuple[str, ...]
) -> None:
    (choice,) = lorem_answer(message).choices
    cut_choice = cut_answer(choice, max_tokens=tokens, stop=stop)
    texts = [part.text for part in cut_choice.parts if isinstance(part, TextPart | ReasoningPart)]
    chunks: tuple[Chunk, ...] = cut_choice.chunks or ()
    joined_chunks = ["".join(c.text for c in chunks if c.part == i) for i in range(len(texts))]
    assert joined_chunks == texts
    assert sum(map(len, texts)) <= 4 * tokens
    for part, text in zip(choice.parts, texts, strict=False):
        assert isinstance(part, TextPart | ReasoningPart) and part.text.startswith(text)
