"""Recognition of instruction blocks in requests, and the block of a chain that answers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.canonical import Json, Message
from scenarios_app.engine.instructions import END, START, InstructedAnswer, find_block
from scenarios_app.engine.parts import OpaquePart, TextPart
from tests.engine.instructions.blocks import (
    block_of_message,
    build_block_answer,
    instructed_answer,
    only_text,
    request_with_block,
    text_with_block,
)
from tests.engine.match_builders import (
    chat_request,
    text_message,
    tool_call_message,
    tool_result_message,
)

HI_BLOCK = '{"messages": [{"text": "Hi"}]}'
INVALID_JSON = {
    "no JSON": "say hello",
    "unfinished": '{"messages": [{"text": "Hi"}]',
    "two values": HI_BLOCK + HI_BLOCK,
    "a comment": "// hi\n" + HI_BLOCK,
    "single quotes": "{'messages': []}",
    "NaN": '{"reasoning": {"length": NaN}}',
    "infinity": '{"reasoning": {"length": 1e999}}',
    "half a surrogate pair": '{"messages": [{"text": "\\ud83d"}]}',
    "half a surrogate pair as a key": '{"\\udc00": 1, "messages": [{"text": "Hi"}]}',
    "too many digits": '{"messages": [{"text": "Hi"}], "n": ' + "1" * 5000 + "}",
    "endless nesting": "[" * 100_000,
    "very deep nesting": "[" * 100_000 + "]" * 100_000,
    "nothing": "",
    "a line break inside a string": '{"messages": [{"text": "a\nb"}]}',
}


@pytest.mark.parametrize("text", INVALID_JSON.values(), ids=INVALID_JSON)
def test_r9_6_invalid_json_is_ignored(text: str) -> None:
    assert build_block_answer(request_with_block(text)) is None


@pytest.mark.parametrize(
    "message",
    [
        HI_BLOCK,
        f"{START}{HI_BLOCK}",
        f"{HI_BLOCK}{END}",
        f"{END}{HI_BLOCK}{START}",
        f"{START}{HI_BLOCK} and more{END}",
        f"<|instruction_begin|>{HI_BLOCK}{END}",
        "",
    ],
)
def test_r9_6_without_both_marks_around_it_there_is_no_block(message: str) -> None:
    assert build_block_answer(chat_request(message)) is None


@pytest.mark.parametrize("template", ["{}", "  {}\n", "\r\n\t{} "])
def test_white_space_around_the_json_is_ignored(template: str) -> None:
    assert find_block(f"{START}{template.format(HI_BLOCK)}{END}") is not None


@pytest.mark.parametrize(
    "template",
    ["```json\n{}\n```", "\n```JSON \r\n{}\r\n```\n", "```\n{}```", "~~~~json\n{}\n~~~~"],
)
def test_json_in_a_markdown_fence_is_read(template: str) -> None:
    assert only_text(template.format(HI_BLOCK)) == "Hi"


@pytest.mark.parametrize(
    "template",
    ["```json\n{}", "{}\n```", "```json {}\n```", "```json\n{}\n~~~", "```yaml\n{}\n```"],
)
def test_json_in_an_incomplete_fence_is_ignored(template: str) -> None:
    assert build_block_answer(request_with_block(template.format(HI_BLOCK))) is None


def test_r9_1_text_outside_the_block_is_ignored() -> None:
    bare_answer = build_block_answer(chat_request(f"{START}{HI_BLOCK}{END}"))
    embedded_answer = build_block_answer(
        chat_request(f"Reason about this:\nReason: why not? {START}{HI_BLOCK}{END} {{}} Thanks.")
    )
    assert isinstance(bare_answer, InstructedAnswer) and isinstance(
        embedded_answer, InstructedAnswer
    )
    assert bare_answer.answer == embedded_answer.answer


def test_only_the_first_block_of_a_message_is_read() -> None:
    second = block_of_message(text="second")
    assert only_text(f"{HI_BLOCK}{END} {START}{json.dumps(second)}") == "Hi"
    assert build_block_answer(request_with_block(f"no JSON{END} {START}{HI_BLOCK}")) is None


def test_blocks_nested_in_strings_do_not_end_the_outer_one() -> None:
    inner = text_with_block(
        block_of_message(tool_call=[{"name": "g", "args": {"p": text_with_block(HI_BLOCK)}}])
    )
    outer = block_of_message(tool_call=[{"name": "f", "args": {"prompt": inner}}])
    (parts,) = [choice.parts for choice in instructed_answer(outer).answer.choices]
    assert json.loads(parts[0].arguments) == {"prompt": inner}
    inner_answer = build_block_answer(chat_request(inner))
    assert isinstance(inner_answer, InstructedAnswer)
    assert inner_answer.answer.choices[0].parts[0].name == "g"


TEXTS = st.text(st.sampled_from('<|>"\\{}a ') | st.characters(codec="utf-8"), max_size=30)
TEXTS_WITH_MARKS = st.lists(st.sampled_from([START, END, '"', "\\", "a"]) | TEXTS).map("".join)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS_WITH_MARKS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS_WITH_MARKS, inner, max_size=3)
    ),
    max_leaves=8,
).filter(lambda value: value != float("inf") and "Infinity" not in json.dumps(value))


@given(VALUES, st.sampled_from(["", " ", "before "]), TEXTS_WITH_MARKS)
def test_block_with_any_strings_is_found(value: Json, before: str, after: str) -> None:
    block = find_block(f"{before}{START}{json.dumps(value)}{END}{after}")
    assert block is not None
    assert block.value == value


@given(TEXTS_WITH_MARKS, TEXTS_WITH_MARKS)
def test_no_text_around_marks_breaks_the_search(first: str, second: str) -> None:
    for text in (first, f"{START}{first}", f"{first}{START}{second}{END}"):
        block = find_block(text)
        assert block is None or json.dumps(block.value)


CHAIN: dict[str, Json] = {
    "instruction_chain": [
        {"id": "one", "messages": [{"tool_call": [{"name": "f", "args": {}}]}]},
        {"messages": [{"text": "two"}]},
    ]
}


def test_each_block_of_a_chain_answers_once_and_then_it_is_complete() -> None:
    assert [instructed_answer(CHAIN, n).label for n in range(4)] == [
        "one",
        "2",
        "complete",
        "complete",
    ]
    assert only_text(CHAIN, assistant_turns=1) == "two"
    assert (
        only_text(CHAIN, assistant_turns=2)
        == only_text(CHAIN, assistant_turns=9)
        == "Chain complete."
    )


def test_a_plain_block_is_a_chain_of_one() -> None:
    assert (instructed_answer(HI_BLOCK).label, instructed_answer(HI_BLOCK, 1).label) == (
        "1",
        "complete",
    )


def test_empty_chain_is_complete() -> None:
    assert only_text({"instruction_chain": []}) == "Chain complete."


def test_only_assistant_messages_after_the_block_are_counted() -> None:
    before = (
        text_message("user", "Hello"),
        text_message("assistant", "Hi"),
        text_message("assistant", "Well?"),
    )
    after = (
        tool_call_message("f"),
        tool_result_message("42"),
        text_message("assistant", "thinking"),
    )
    request = chat_request(*before, text_message("user", text_with_block(CHAIN)), *after)
    answer = build_block_answer(request)
    assert isinstance(answer, InstructedAnswer)
    assert answer.label == "complete"


@pytest.mark.parametrize(
    "later_message",
    [
        tool_result_message("a tool's result"),
        Message("user", (OpaquePart("image_url"),)),
        text_message("user", ""),
        text_message("system", "Be brief."),
    ],
    ids=["tool result", "image", "empty text", "system"],
)
def test_messages_without_user_text_after_the_block_are_skipped(later_message: Message) -> None:
    answer = build_block_answer(
        chat_request(
            text_message("user", text_with_block(CHAIN)), tool_call_message("f"), later_message
        )
    )
    assert isinstance(answer, InstructedAnswer)
    assert answer.label == "2"


def test_a_later_user_message_without_a_block_ends_the_chain() -> None:
    assert (
        build_block_answer(
            chat_request(
                text_message("user", text_with_block(CHAIN)),
                tool_call_message("f"),
                text_message("user", "And now?"),
            )
        )
        is None
    )


def test_a_later_block_replaces_an_earlier_one() -> None:
    answer = build_block_answer(
        chat_request(
            text_message("user", text_with_block(CHAIN)),
            tool_call_message("f"),
            text_message("user", text_with_block(HI_BLOCK)),
        )
    )
    assert isinstance(answer, InstructedAnswer)
    assert answer.answer.choices[0].parts == (TextPart("Hi"),)


def test_block_in_another_role_is_ignored() -> None:
    assert (
        build_block_answer(
            chat_request(
                text_message("system", text_with_block(HI_BLOCK)), text_message("user", "Hello")
            )
        )
        is None
    )
    assert (
        build_block_answer(
            chat_request(
                text_message("user", "Hello"), text_message("assistant", text_with_block(HI_BLOCK))
            )
        )
        is None
    )


def test_a_block_may_be_spread_over_the_text_parts_of_its_message() -> None:
    answer = build_block_answer(
        chat_request(
            text_message("user", "Do it.", f"{START}{HI_BLOCK[:11]}", f"{HI_BLOCK[11:]}{END}")
        )
    )
    assert isinstance(answer, InstructedAnswer)


@pytest.mark.parametrize("name", ["", "a" * 201, "two\nlines", "nul\x00"])
def test_id_that_is_no_valid_name_is_replaced_by_the_number(name: str) -> None:
    assert instructed_answer({"id": name, "messages": [{"text": "Hi"}]}).label == "1"
