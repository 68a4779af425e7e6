"""What an instruction block's messages become: choices, reasoning, lorem, marks, chunks."""

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
from tests.engine.instructions.blocks import asking as asking_block
from tests.engine.instructions.blocks import (
    build_block_answer,
    choices,
    instructed_answer,
    message,
    part,
    text,
    texts,
)

WEATHER: Json = {"name": "get_weather", "args": {"location": "Chicago", "days": [1, 2.5]}}
MARKS = st.text(st.sampled_from("ab é\n"), min_size=1, max_size=10)
LENGTHS = st.integers(0, 120)


def sizes(chunks: list[str]) -> list[int]:
    return [len(chunk.split()) for chunk in chunks]


def chunks_of(found: InstructedAnswer, choice: int, index: int) -> list[str]:
    return [c.text for c in found.answer.choices[choice].chunks or () if c.part == index]


def test_a_length_may_be_written_as_3_0() -> None:
    block: Json = {
        "reasoning": {"length": 4.0},
        "messages": [
            {"text_message": {"length": 3.0}},
            {"text_with_citations": {"length": 5.0, "citations": []}},
        ],
    }
    assert '"length": 3.0' in json.dumps(block)
    said = [part.text for parts in choices(block) for part in parts if hasattr(part, "text")]
    assert [len(text.split()) for text in said] == [4, 3, 5]


def test_a_stream_may_be_cut_after_2_0_chunks() -> None:
    found = instructed_answer({"cancel_after_chunks": 2.0, **message(text="x")}).cancel_after_chunks
    assert (found, type(found)) == (2, int)


@given(LENGTHS)
def test_r9_2_a_text_message_has_as_many_words_as_its_length(length: int) -> None:
    assert len(text(message(text_message={"length": length})).split()) == length


@given(LENGTHS, LENGTHS, MARKS)
def test_r9_2_id_message_stands_at_both_ends_of_reasoning_and_text_and_does_not_count(
    words: int, thoughts: int, mark: str
) -> None:
    block: dict[str, Json] = {
        "id_message": mark,
        "reasoning": {"length": thoughts},
        "messages": [{"text_message": {"length": words}}],
    }
    ((reasoning, said),) = choices(block)
    for found, length in ((reasoning, thoughts), (said, words)):
        content = found.text  # type: ignore[union-attr]
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
    assert text({"id_message": "M", "messages": [kind]}) == expected


@pytest.mark.parametrize("mark", [None, ""])
def test_without_id_message_a_text_stands_alone(mark: str | None) -> None:
    assert text({"id_message": mark, "messages": [{"text": " said "}]}) == " said "


def test_r9_3_each_message_is_a_choice_of_its_own_in_order() -> None:
    block: dict[str, Json] = {
        "messages": [{"text": "a"}, {"tool_call": [WEATHER]}, {"text": "c"}, {"text": "d"}]
    }
    found = instructed_answer(block)
    assert found.answer.per_choice
    # Consecutive messages, where other answers have alternatives.
    assert found.answer.consecutive
    assert [texts(parts) for parts in choices(block)] == [
        [(TextPart, "a")],
        [(ToolCallPart, '{"location":"Chicago","days":[1,2.5]}')],
        [(TextPart, "c")],
        [(TextPart, "d")],
    ]


def kinds(parts: tuple[AnswerPart, ...]) -> list[type[AnswerPart]]:
    return [type(found) for found in parts]


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
    found = choices(block)
    assert [kinds(parts) for parts in found] == [
        [ReasoningPart, ToolCallPart],
        [TextPart],
        [ReasoningPart, TextPart],
        [ToolCallPart],
        [ReasoningPart, TextPart],
        [TextPart],
    ]
    thoughts = [parts[0].text for parts in found if isinstance(parts[0], ReasoningPart)]
    assert [len(thought.split()) for thought in thoughts] == [4, 4, 4]
    assert len(set(thoughts)) == 3


@pytest.mark.parametrize("messages", [{}, {"messages": []}, {"messages": None}])
def test_a_block_of_reasoning_alone_is_one_choice(messages: dict[str, Json]) -> None:
    ((reasoning,),) = choices({"reasoning": {"length": 3}, **messages})
    assert isinstance(reasoning, ReasoningPart)
    assert len(reasoning.text.split()) == 3


@pytest.mark.parametrize("reasoning", [None, {}, {"length": None}, {"depth": 3}])
def test_without_a_length_there_is_no_reasoning(reasoning: Json) -> None:
    assert kinds(choices({"reasoning": reasoning, "messages": [{"text": "x"}]})[0]) == [TextPart]


@given(st.integers(0, 200), st.integers(0, 200))
def test_chunks_join_to_their_parts_and_hold_3_to_10_words(words: int, thoughts: int) -> None:
    block: dict[str, Json] = {
        "id_message": "the mark",
        "reasoning": {"length": thoughts},
        "messages": [{"text_message": {"length": words}}, {"tool_call": [WEATHER]}],
    }
    found = instructed_answer(block)
    for index, spoken in enumerate(found.answer.choices[0].parts):
        chunks = chunks_of(found, 0, index)
        assert "".join(chunks) == spoken.text  # type: ignore[union-attr]
        assert all(3 <= size <= 10 for size in sizes(chunks)[:-1])
    assert found.answer.choices[1].chunks is None


def test_the_same_block_says_the_same_and_another_something_else() -> None:
    block = message(text_message={"length": 50})
    assert instructed_answer(block) == instructed_answer(block)
    assert text(block) != text({**block, "id": "other"})
    chain: dict[str, Json] = {"instruction_chain": [block, block]}
    assert text(chain, answered=0) != text(chain, answered=1)


@pytest.mark.parametrize(
    ("args", "sent"),
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
    args: Json, sent: str
) -> None:
    assert part(message(tool_call=[{"name": "f", "args": args}])) == ToolCallPart("", "f", sent)


def test_calls_of_one_message_are_parallel_and_may_have_no_arguments() -> None:
    block = message(tool_call=[WEATHER, {"name": "now"}])
    (parts,) = choices(block)
    assert [p.name for p in parts if isinstance(p, ToolCallPart)] == ["get_weather", "now"]
    assert parts[1] == ToolCallPart("", "now", "{}")


@pytest.mark.parametrize("key", ["id", "tool_use_id"])
def test_a_server_tools_use_and_its_result_are_parts_of_their_own(key: str) -> None:
    use = message(server_tool_use={"name": "web_search", "input": {"query": "q"}, key: "s1"})
    assert part(use) == ServerToolUsePart("s1", "web_search", '{"query":"q"}')
    gave = message(server_tool_result={"name": "web_search", "result": [{"url": "u"}], key: "s1"})
    assert part(gave) == ServerToolResultPart("s1", "web_search", '[{"url":"u"}]')


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ServerToolResultPart("", "t", "null")),
        ({"content": "text"}, ServerToolResultPart("", "t", '"text"')),
        ({"result": 1, "content": 2}, ServerToolResultPart("", "t", "1")),
        ({"error_code": "unavailable"}, ServerToolResultPart("", "t", "null", "unavailable")),
    ],
)
def test_a_server_tools_result_is_any_json_or_an_error(
    given: dict[str, Json], expected: ServerToolResultPart
) -> None:
    assert part(message(server_tool_result={"name": "t", **given})) == expected


def test_a_server_tool_may_be_used_without_input() -> None:
    assert part(message(server_tool_use={"name": "t"})) == ServerToolUsePart("", "t", "{}")


def test_a_text_with_citations_names_its_sources() -> None:
    cited: Json = {"type": "url_citation", "url": "u", "title": "T", "cited_text": "b"}
    found = part(message(text_with_citations={"text": "a b c", "citations": [cited, {}]}))
    assert found == TextPart("a b c", (Citation("u", "T", "b"), Citation("")))


@pytest.mark.parametrize("citations", [{}, {"citations": []}, {"citations": None}])
def test_a_text_with_citations_may_be_lorem_and_have_none(citations: dict[str, Json]) -> None:
    found = part(message(text_with_citations={"length": 7, **citations}))
    assert isinstance(found, TextPart)
    assert (len(found.text.split()), found.citations) == (7, ())


def test_text_goes_before_length_where_a_text_with_citations_has_both() -> None:
    assert text(message(text_with_citations={"text": "given", "length": 3})) == "given"


@pytest.mark.parametrize("after", [0, 1, 2_147_483_647])
def test_r8_2_a_block_may_say_where_its_stream_breaks_off(after: int) -> None:
    block = {**message(text="x"), "cancel_after_chunks": after}
    assert instructed_answer(block).cancel_after_chunks == after
    assert instructed_answer(message(text="x")).cancel_after_chunks is None


@pytest.mark.parametrize("limit", [20, 21])
def test_text_up_to_the_limit_is_produced(limit: int) -> None:
    block = message(text="é" * 10)
    assert isinstance(build_block_answer(asking_block(block), limit), InstructedAnswer)
