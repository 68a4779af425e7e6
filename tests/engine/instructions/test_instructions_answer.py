"""Answers from instruction blocks: choices, reasoning, lorem, id messages and chunks."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.instructions import InstructedAnswer
from scenarios_app.engine.parts import (
    AnswerPart,
    Citation,
    ReasoningPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from tests.engine.instructions.blocks import (
    block_of_message,
    build_block_answer,
    choice_parts,
    instructed_answer,
    only_part,
    only_text,
    part_texts,
)
from tests.engine.instructions.blocks import request_with_block as asking_block

WEATHER: Json = {"name": "get_weather", "args": {"location": "Chicago", "days": [1, 2.5]}}
MARKS = st.text(st.sampled_from("ab é\n"), min_size=1, max_size=10)
LENGTHS = st.integers(0, 120)


def word_counts(chunks: list[str]) -> list[int]:
    return [len(chunk.split()) for chunk in chunks]


def chunk_texts(answer: InstructedAnswer, choice: int, index: int) -> list[str]:
    return [c.text for c in answer.answer.choices[choice].chunks or () if c.part == index]


def test_length_may_be_a_float_without_a_fraction() -> None:
    block: Json = {
        "reasoning": {"length": 4.0},
        "messages": [
            {"text_message": {"length": 3.0}},
            {"text_with_citations": {"length": 5.0, "citations": []}},
        ],
    }
    assert '"length": 3.0' in json.dumps(block)
    part_texts = [
        part.text for parts in choice_parts(block) for part in parts if hasattr(part, "text")
    ]
    assert [len(text.split()) for text in part_texts] == [4, 3, 5]


def test_cancel_after_chunks_may_be_a_float_without_a_fraction() -> None:
    chunk_count = instructed_answer(
        {"cancel_after_chunks": 2.0, **block_of_message(text="x")}
    ).cancel_after_chunks
    assert (chunk_count, type(chunk_count)) == (2, int)


@given(LENGTHS)
def test_r9_2_a_text_message_has_as_many_words_as_its_length(length: int) -> None:
    assert len(only_text(block_of_message(text_message={"length": length})).split()) == length


@given(LENGTHS, LENGTHS, MARKS)
def test_r9_2_id_message_stands_at_both_ends_of_reasoning_and_text_and_does_not_count(
    text_length: int, reasoning_length: int, mark: str
) -> None:
    block: dict[str, Json] = {
        "id_message": mark,
        "reasoning": {"length": reasoning_length},
        "messages": [{"text_message": {"length": text_length}}],
    }
    ((reasoning, text_part),) = choice_parts(block)
    for part, length in ((reasoning, reasoning_length), (text_part, text_length)):
        content = part.text
        assert content.startswith(f"{mark} ") and content.endswith(f" {mark}")
        between = content[len(mark) : -len(mark)]
        assert len(between.split()) == length
        assert between.strip() == " ".join(between.split())


@pytest.mark.parametrize(
    ("kind", "inside"),
    [
        ({"text": "said"}, "said"),
        ({"text": ""}, ""),
        ({"tools_list": {}}, "The request offers no tools."),
        ({"text_with_citations": {"text": "cited"}}, "cited"),
    ],
)
def test_id_message_stands_around_every_kind_of_text(kind: dict[str, Json], inside: str) -> None:
    expected = f"M {inside} M" if inside else "M M"
    assert only_text({"id_message": "M", "messages": [kind]}) == expected


@pytest.mark.parametrize("mark", [None, ""])
def test_text_without_id_message_has_no_marks(mark: str | None) -> None:
    assert only_text({"id_message": mark, "messages": [{"text": " said "}]}) == " said "


def test_r9_3_each_message_is_a_separate_choice_in_order() -> None:
    block: dict[str, Json] = {
        "messages": [{"text": "a"}, {"tool_call": [WEATHER]}, {"text": "c"}, {"text": "d"}]
    }
    answer = instructed_answer(block)
    assert answer.answer.per_choice
    # Consecutive messages, where other answers have alternatives.
    assert answer.answer.consecutive
    assert [part_texts(parts) for parts in choice_parts(block)] == [
        [(TextPart, "a")],
        [(ToolCallPart, '{"location":"Chicago","days":[1,2.5]}')],
        [(TextPart, "c")],
        [(TextPart, "d")],
    ]


def part_types(parts: tuple[AnswerPart, ...]) -> list[type[AnswerPart]]:
    return [type(part) for part in parts]


def test_r9_4_reasoning_comes_before_every_text_message_and_before_the_first_of_any_kind() -> None:
    block: dict[str, Json] = {
        "reasoning": {"length": 4},
        "messages": [
            {"tool_call": [WEATHER]},
            {"text": "x"},
            {"text_message": {"length": 2}},
            {"tool_call": [WEATHER]},
            {"text_message": {"length": 2}},
            {"text_with_citations": {"length": 2}},
        ],
    }
    parts_by_choice = choice_parts(block)
    assert [part_types(parts) for parts in parts_by_choice] == [
        [ReasoningPart, ToolCallPart],
        [TextPart],
        [ReasoningPart, TextPart],
        [ToolCallPart],
        [ReasoningPart, TextPart],
        [TextPart],
    ]
    reasoning_texts = [
        parts[0].text for parts in parts_by_choice if isinstance(parts[0], ReasoningPart)
    ]
    assert [len(thought.split()) for thought in reasoning_texts] == [4, 4, 4]
    assert len(set(reasoning_texts)) == 3


@pytest.mark.parametrize("messages", [{}, {"messages": []}, {"messages": None}])
def test_block_with_only_reasoning_is_one_choice(messages: dict[str, Json]) -> None:
    ((reasoning,),) = choice_parts({"reasoning": {"length": 3}, **messages})
    assert isinstance(reasoning, ReasoningPart)
    assert len(reasoning.text.split()) == 3


@pytest.mark.parametrize("reasoning", [None, {}, {"length": None}, {"depth": 3}])
def test_without_a_length_there_is_no_reasoning(reasoning: Json) -> None:
    assert part_types(choice_parts({"reasoning": reasoning, "messages": [{"text": "x"}]})[0]) == [
        TextPart
    ]


@given(st.integers(0, 200), st.integers(0, 200))
def test_chunks_join_to_their_parts_and_hold_3_to_10_words(
    text_length: int, reasoning_length: int
) -> None:
    block: dict[str, Json] = {
        "id_message": "the mark",
        "reasoning": {"length": reasoning_length},
        "messages": [{"text_message": {"length": text_length}}, {"tool_call": [WEATHER]}],
    }
    answer = instructed_answer(block)
    for index, part in enumerate(answer.answer.choices[0].parts):
        chunks = chunk_texts(answer, 0, index)
        assert "".join(chunks) == part.text
        assert all(3 <= size <= 10 for size in word_counts(chunks)[:-1])
    assert answer.answer.choices[1].chunks is None


def test_same_block_gives_the_same_lorem_and_another_block_other_lorem() -> None:
    block = block_of_message(text_message={"length": 50})
    assert instructed_answer(block) == instructed_answer(block)
    assert only_text(block) != only_text({**block, "id": "other"})
    chain: dict[str, Json] = {"instruction_chain": [block, block]}
    assert only_text(chain, assistant_turns=0) != only_text(chain, assistant_turns=1)


@pytest.mark.parametrize(
    ("args", "arguments"),
    [
        ({"b": 1, "a": [1.5, None, "é\n"]}, '{"b":1,"a":[1.5,null,"é\\n"]}'),
        ({}, "{}"),
        (None, "{}"),
        ([1], "[1]"),
        ('{"broken": ', '{"broken": '),
        (7, "7"),
        ({"big": 2**70}, '{"big":1180591620717411303424}'),
    ],
)
def test_arguments_are_compact_json_and_a_string_is_sent_as_it_stands(
    args: Json, arguments: str
) -> None:
    assert only_part(block_of_message(tool_call=[{"name": "f", "args": args}])) == ToolCallPart(
        "", "f", arguments
    )


def test_calls_of_one_message_are_one_choice_and_may_have_no_arguments() -> None:
    block = block_of_message(tool_call=[WEATHER, {"name": "now"}])
    (parts,) = choice_parts(block)
    assert [p.name for p in parts if isinstance(p, ToolCallPart)] == ["get_weather", "now"]
    assert parts[1] == ToolCallPart("", "now", "{}")


@pytest.mark.parametrize("key", ["id", "tool_use_id"])
def test_use_and_result_of_a_server_tool_are_separate_parts(key: str) -> None:
    use_block = block_of_message(
        server_tool_use={"name": "web_search", "input": {"query": "q"}, key: "s1"}
    )
    assert only_part(use_block) == ServerToolUsePart("s1", "web_search", '{"query":"q"}')
    result_block = block_of_message(
        server_tool_result={"name": "web_search", "result": [{"url": "u"}], key: "s1"}
    )
    assert only_part(result_block) == ServerToolResultPart("s1", "web_search", '[{"url":"u"}]')


@pytest.mark.parametrize(
    ("result_fields", "expected"),
    [
        ({}, ServerToolResultPart("", "t", "null")),
        ({"content": "text"}, ServerToolResultPart("", "t", '"text"')),
        ({"result": 1, "content": 2}, ServerToolResultPart("", "t", "1")),
        ({"error_code": "unavailable"}, ServerToolResultPart("", "t", "null", "unavailable")),
    ],
)
def test_result_of_a_server_tool_is_any_json_or_an_error(
    result_fields: dict[str, Json], expected: ServerToolResultPart
) -> None:
    assert (
        only_part(block_of_message(server_tool_result={"name": "t", **result_fields})) == expected
    )


def test_a_server_tool_may_be_used_without_input() -> None:
    assert only_part(block_of_message(server_tool_use={"name": "t"})) == ServerToolUsePart(
        "", "t", "{}"
    )


def test_a_text_with_citations_names_its_sources() -> None:
    citation: Json = {"type": "url_citation", "url": "u", "title": "T", "cited_text": "b"}
    part = only_part(
        block_of_message(text_with_citations={"text": "a b c", "citations": [citation, {}]})
    )
    assert part == TextPart("a b c", (Citation("u", "T", "b"), Citation("")))


@pytest.mark.parametrize("citations", [{}, {"citations": []}, {"citations": None}])
def test_text_with_citations_may_be_lorem_without_citations(citations: dict[str, Json]) -> None:
    part = only_part(block_of_message(text_with_citations={"length": 7, **citations}))
    assert isinstance(part, TextPart)
    assert (len(part.text.split()), part.citations) == (7, ())


def test_text_with_citations_ignores_length_if_it_has_text() -> None:
    assert (
        only_text(block_of_message(text_with_citations={"text": "given", "length": 3})) == "given"
    )


@pytest.mark.parametrize("after", [0, 1, 2_147_483_647])
def test_r8_2_block_sets_the_chunk_after_which_its_stream_ends(after: int) -> None:
    block = {**block_of_message(text="x"), "cancel_after_chunks": after}
    assert instructed_answer(block).cancel_after_chunks == after
    assert instructed_answer(block_of_message(text="x")).cancel_after_chunks is None


@pytest.mark.parametrize("limit", [20, 21])
def test_text_up_to_the_limit_is_produced(limit: int) -> None:
    block = block_of_message(text="é" * 10)
    assert isinstance(build_block_answer(asking_block(block), limit), InstructedAnswer)
