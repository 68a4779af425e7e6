"""Answers cut at their limits."""

from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.engine.parts import Chunk, ReasoningPart, TextPart, ToolCallPart
from scenarios_app.engine.producing.auto import cut_answer
from scenarios_app.engine.producing.lorem import lorem_answer
from scenarios_app.engine.scenario import ScriptedChoice
from tests.support.hypothesis_profiles import often

TEXT = ScriptedChoice((TextPart("one two three"),))
CALL = ScriptedChoice((TextPart("look"), ToolCallPart("", "find", '{"a":"bcdef"}')))


def test_text_ends_before_the_first_stop_sequence() -> None:
    stopped = cut_answer(TEXT, max_tokens=None, stop=("", "three", "two", "never"))
    assert stopped == ScriptedChoice((TextPart("one "),), None, "stop_sequence", "two")
    assert cut_answer(TEXT, max_tokens=None, stop=("", "never")) == TEXT
    assert cut_answer(TEXT, max_tokens=None, stop=("one",)).parts == ()
    assert cut_answer(TEXT, max_tokens=None, stop=("n",)).parts == (TextPart("o"),)
    assert cut_answer(TEXT, max_tokens=None, stop=("e",)).parts == (TextPart("on"),)


def test_arguments_and_thoughts_know_no_stop_sequence() -> None:
    assert cut_answer(CALL, max_tokens=None, stop=("bcd",)) == CALL
    thought = ScriptedChoice((ReasoningPart("XXXX"), TextPart("go")))
    assert cut_answer(thought, max_tokens=None, stop=("XX",)) == thought


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
    both = cut_answer(TEXT, max_tokens=1, stop=("three",))
    assert (both.parts, both.finish_reason, both.stop_sequence) == (
        (TextPart("one "),),
        "length",
        None,
    )


def test_chunks_are_cut_where_their_parts_are() -> None:
    chunks = (Chunk(0, "Why?"), Chunk(1, "One "), Chunk(1, "two "), Chunk(1, "three"))
    whole = ScriptedChoice((ReasoningPart("Why?"), TextPart("One two three")), chunks)
    in_a_chunk = cut_answer(whole, max_tokens=None, stop=("wo",))
    assert in_a_chunk.parts == (ReasoningPart("Why?"), TextPart("One t"))
    assert in_a_chunk.chunks == (*chunks[:2], Chunk(1, "t"))
    between_two = cut_answer(whole, max_tokens=None, stop=("two",))
    assert between_two.parts == (ReasoningPart("Why?"), TextPart("One "))
    assert between_two.chunks == chunks[:2]
    before_all = cut_answer(whole, max_tokens=None, stop=("One",))
    assert before_all.parts == (ReasoningPart("Why?"),)
    assert before_all.chunks == chunks[:1]


@settings(max_examples=often(500))
@given(
    st.sampled_from(["Hello", "Why?\nReason: to know", ""]),
    st.integers(0, 900),
    st.sampled_from([(), (" ut ",), ("Why", "to")]),
)
def test_chunks_stay_the_whole_answer(message: str, tokens: int, stop: tuple[str, ...]) -> None:
    (whole,) = lorem_answer(message).choices
    shorter = cut_answer(whole, max_tokens=tokens, stop=stop)
    texts = [part.text for part in shorter.parts if isinstance(part, TextPart | ReasoningPart)]
    chunks: tuple[Chunk, ...] = shorter.chunks or ()
    joined = ["".join(c.text for c in chunks if c.part == i) for i in range(len(texts))]
    assert joined == texts
    assert sum(map(len, texts)) <= 4 * tokens
    for part, text in zip(whole.parts, texts, strict=False):
        assert isinstance(part, TextPart | ReasoningPart) and part.text.startswith(text)
