"""Which text of a request is an instruction block, and which of a chain's blocks answers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.canonical import Json, Message
from scenarios_app.engine.instructions import END, START, InstructedAnswer, find_block
from scenarios_app.engine.parts import OpaquePart, TextPart
from tests.engine.asking import ask, called, result, say
from tests.engine.instructions.blocks import (
    asking,
    build_block_answer,
    instructed_answer,
    marked,
    message,
    text,
)

HI = '{"messages": [{"text": "Hi"}]}'
BROKEN = {
    "no JSON": "say hello",
    "unfinished": '{"messages": [{"text": "Hi"}]',
    "two values": HI + HI,
    "a comment": "// hi\n" + HI,
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


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_r9_6_what_is_not_valid_json_is_as_if_absent(broken: str) -> None:
    assert build_block_answer(asking(broken)) is None


@pytest.mark.parametrize(
    "message",
    [
        HI,
        f"{START}{HI}",
        f"{HI}{END}",
        f"{END}{HI}{START}",
        f"{START}{HI} and more{END}",
        f"<|instruction_begin|>{HI}{END}",
        "",
    ],
)
def test_r9_6_without_both_marks_around_it_there_is_no_block(message: str) -> None:
    assert build_block_answer(ask(message)) is None


@pytest.mark.parametrize("around", ["{}", "  {}\n", "\r\n\t{} "])
def test_white_space_may_stand_around_the_json(around: str) -> None:
    assert find_block(f"{START}{around.format(HI)}{END}") is not None


@pytest.mark.parametrize(
    "fenced",
    ["```json\n{}\n```", "\n```JSON \r\n{}\r\n```\n", "```\n{}```", "~~~~json\n{}\n~~~~"],
)
def test_json_in_a_markdown_fence_is_read(fenced: str) -> None:
    assert text(fenced.format(HI)) == "Hi"


@pytest.mark.parametrize(
    "fenced", ["```json\n{}", "{}\n```", "```json {}\n```", "```json\n{}\n~~~", "```yaml\n{}\n```"]
)
def test_json_in_half_a_fence_is_as_if_absent(fenced: str) -> None:
    assert build_block_answer(asking(fenced.format(HI))) is None


def test_r9_1_text_outside_the_block_is_ignored() -> None:
    alone = build_block_answer(ask(f"{START}{HI}{END}"))
    among = build_block_answer(
        ask(f"Reason about this:\nReason: why not? {START}{HI}{END} {{}} Thanks.")
    )
    assert isinstance(alone, InstructedAnswer) and isinstance(among, InstructedAnswer)
    assert alone.answer == among.answer


def test_only_the_first_block_of_a_message_is_read() -> None:
    second = message(text="second")
    assert text(f"{HI}{END} {START}{json.dumps(second)}") == "Hi"
    assert build_block_answer(asking(f"no JSON{END} {START}{HI}")) is None


def test_blocks_nested_in_strings_do_not_end_the_outer_one() -> None:
    inner = marked(message(tool_call=[{"name": "g", "args": {"p": marked(HI)}}]))
    outer = message(tool_call=[{"name": "f", "args": {"prompt": inner}}])
    (parts,) = [choice.parts for choice in instructed_answer(outer).answer.choices]
    assert json.loads(parts[0].arguments) == {"prompt": inner}  # type: ignore[union-attr]
    nested = build_block_answer(ask(inner))
    assert isinstance(nested, InstructedAnswer)
    assert nested.answer.choices[0].parts[0].name == "g"  # type: ignore[union-attr]


TEXTS = st.text(st.sampled_from('<|>"\\{}a ') | st.characters(codec="utf-8"), max_size=30)
MARKED = st.lists(st.sampled_from([START, END, '"', "\\", "a"]) | TEXTS).map("".join)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | MARKED,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MARKED, inner, max_size=3),
    max_leaves=8,
).filter(lambda value: value != float("inf") and "Infinity" not in json.dumps(value))


@given(VALUES, st.sampled_from(["", " ", "before "]), MARKED)
def test_a_block_is_found_whatever_its_strings_hold(value: Json, before: str, after: str) -> None:
    found = find_block(f"{before}{START}{json.dumps(value)}{END}{after}")
    assert found is not None
    assert found.value == value


@given(MARKED, MARKED)
def test_no_text_around_marks_breaks_the_search(one: str, other: str) -> None:
    for text_ in (one, f"{START}{one}", f"{one}{START}{other}{END}"):
        found = find_block(text_)
        assert found is None or json.dumps(found.value)


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
    assert text(CHAIN, answered=1) == "two"
    assert text(CHAIN, answered=2) == text(CHAIN, answered=9) == "Chain complete."


def test_a_plain_block_is_a_chain_of_one() -> None:
    assert (instructed_answer(HI).label, instructed_answer(HI, 1).label) == ("1", "complete")


def test_an_empty_chain_is_complete_at_once() -> None:
    assert text({"instruction_chain": []}) == "Chain complete."


def test_every_assistant_message_after_the_block_counts_and_none_before_it() -> None:
    before = (say("user", "Hello"), say("assistant", "Hi"), say("assistant", "Well?"))
    after = (called("f"), result("42"), say("assistant", "thinking"))
    request = ask(*before, say("user", marked(CHAIN)), *after)
    found = build_block_answer(request)
    assert isinstance(found, InstructedAnswer)
    assert found.label == "complete"


@pytest.mark.parametrize(
    "later",
    [
        result("a tool's result"),
        Message("user", (OpaquePart("image_url"),)),
        say("user", ""),
        say("system", "Be brief."),
    ],
    ids=["tool result", "image", "empty text", "system"],
)
def test_messages_without_users_text_after_the_block_are_passed_over(later: Message) -> None:
    found = build_block_answer(ask(say("user", marked(CHAIN)), called("f"), later))
    assert isinstance(found, InstructedAnswer)
    assert found.label == "2"


def test_a_later_user_message_without_a_block_ends_the_chain() -> None:
    assert (
        build_block_answer(ask(say("user", marked(CHAIN)), called("f"), say("user", "And now?")))
        is None
    )


def test_a_later_block_replaces_an_earlier_one() -> None:
    found = build_block_answer(
        ask(say("user", marked(CHAIN)), called("f"), say("user", marked(HI)))
    )
    assert isinstance(found, InstructedAnswer)
    assert found.answer.choices[0].parts == (TextPart("Hi"),)


def test_a_block_in_another_role_is_none() -> None:
    assert build_block_answer(ask(say("system", marked(HI)), say("user", "Hello"))) is None
    assert build_block_answer(ask(say("user", "Hello"), say("assistant", marked(HI)))) is None


def test_a_block_may_be_spread_over_the_text_parts_of_its_message() -> None:
    found = build_block_answer(ask(say("user", "Do it.", f"{START}{HI[:11]}", f"{HI[11:]}{END}")))
    assert isinstance(found, InstructedAnswer)


@pytest.mark.parametrize("name", ["", "a" * 201, "two\nlines", "nul\x00"])
def test_an_id_that_is_no_name_to_show_gives_way_to_the_number(name: str) -> None:
    assert instructed_answer({"id": name, "messages": [{"text": "Hi"}]}).label == "1"
