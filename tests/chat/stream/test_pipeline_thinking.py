"""Thinking in tags is split off wherever it is cut, but tags inside code are text."""

import pytest

from chat_app.stream import StreamPipeline
from chat_app.values.events import TextDelta, ThinkingDelta
from chat_app.values.model_call import ThinkingPart
from tests.chat.pipelines import END, feed_all, text_and_thinking

TAGGED = "<think>\nhmm\n</think>\n\nHello"


@pytest.mark.parametrize("border", range(len(TAGGED) + 1))
def test_tags_are_recognised_wherever_they_are_cut(border: int) -> None:
    assert text_and_thinking(TAGGED[:border], TAGGED[border:]) == ("Hello", "hmm")


def test_tags_are_recognised_character_by_character() -> None:
    assert text_and_thinking(*TAGGED) == ("Hello", "hmm")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi <think>a</think> there", ("Hi  there", "a")),
        ("<think>a</think>b<think>c</think>d", ("bd", "ac")),
        ("<think>never closed", ("", "never closed")),
        ("<think>never closed</thi", ("", "never closed</thi")),
        ("<think>a <think> b</think>c", ("c", "a <think> b")),
        ("<think></think>\n\nHello", ("Hello", "")),
        ("<<think>a</think>>", ("<>", "a")),
        ("<think>a < b</think>c", ("c", "a < b")),
        ("<think>a<</think>c", ("c", "a<")),
        ("<th\x00ink>a</th\x1bink>b", ("b", "a")),
    ],
)
def test_thinking_is_split_off(text: str, expected: tuple[str, str]) -> None:
    assert text_and_thinking(text) == expected
    assert text_and_thinking(*text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "no opening</think> here",
        "<Think>a</Think>",
        "<thinking>a</thinking>",
        "< think>a",
        "1 < 2 <th",
        "use `<think>` and `</think>` tags",
        "use the `a <think> b` tag",
        "use ``<think>`` tags",
        "```xml\n<think>a</think>\n```\nis how",
        "~~~\n<think>a</think>\n~~~",
        "like so:\n  ```\n<think>a</think>\n```",
        "```\n~~~\n<think>",
        "```\na ``` b\n<think>",
    ],
)
def test_partial_and_foreign_tags_are_text(text: str) -> None:
    assert text_and_thinking(text) == (text, "")
    assert text_and_thinking(*text) == (text, "")


@pytest.mark.parametrize(
    "before",
    [
        "`code` and ",
        "a lone ` on a line\n",
        "```\ncode\n```\n",
        "~~~~\ncode\n~~~~",
        "~~ no fence\n",
        "~``` no fence\n",
        "` ``` no fence\n",
        "a ``` b ``` c ",
        "`` ` ",
    ],
)
def test_thinking_behind_code_is_split_off(before: str) -> None:
    expected = (before.rstrip(), "a")
    assert text_and_thinking(f"{before}<think>a</think>") == expected
    assert text_and_thinking(*before, "<think>a</think>") == expected


def test_thinking_is_closed_by_a_tag_in_code_as_well() -> None:
    assert text_and_thinking("<think>a `</think>b") == ("b", "a `")


def test_code_continues_after_native_thinking() -> None:
    assert text_and_thinking("```", ThinkingPart("x"), "\n<think>a") == ("```\n<think>a", "x")


def test_code_ends_with_its_round() -> None:
    pipeline = StreamPipeline()
    feed_all(pipeline, "```\n", END)
    pipeline.end_round()
    assert feed_all(pipeline, "<think>a", END) == [ThinkingDelta("a")]


def test_thinking_ends_with_its_round() -> None:
    pipeline = StreamPipeline()
    feed_all(pipeline, "<think>a", END)
    pipeline.end_round()
    assert feed_all(pipeline, "b", END) == [TextDelta("b")]
