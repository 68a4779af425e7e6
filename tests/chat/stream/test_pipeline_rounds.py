"""Rounds: the parts of a model call for the next prompt, and its tool calls."""

import json

from chat_app.stream import StreamPipeline
from chat_app.stream.rounds import Round
from chat_app.values.events import Complete, TextDelta, ToolCall, ToolCallDelta, ToolCallStart
from chat_app.values.model_call import (
    AssistantPart,
    CallArguments,
    CallStarted,
    Finished,
    ProviderEvent,
    TextPart,
    ThinkingPart,
)
from tests.chat.pipelines import END, feed_all


def parts(*events: ProviderEvent | str) -> tuple[AssistantPart, ...]:
    pipeline = StreamPipeline()
    feed_all(pipeline, *events, END)
    return pipeline.end_round().parts


def test_parts_keep_their_order() -> None:
    assert parts(
        ThinkingPart("a"),
        "b",
        CallStarted("1", "f"),
        "c",
        ThinkingPart("d"),
        CallStarted("2", "g"),
    ) == (
        ThinkingPart("a"),
        TextPart("b"),
        ToolCall("1", "f", "{}"),
        TextPart("c"),
        ThinkingPart("d"),
        ToolCall("2", "g", "{}"),
    )


def test_signed_thinking_is_kept_unchanged() -> None:
    raw = " h␄m\x00\r\n\ud83d"
    assert parts(ThinkingPart(raw), ThinkingPart("\ude00 "), ThinkingPart(signature="s=")) == (
        ThinkingPart(" h␄m\x00\r\n😀 ", signature="s="),
    )


def test_unsigned_thinking_is_kept_clean() -> None:
    assert parts(ThinkingPart(" h␄m\x00m "), "<think> x␄y\n</think>") == (
        ThinkingPart("hmm"),
        ThinkingPart("xy"),
    )


def test_a_signature_closes_its_block() -> None:
    assert parts(
        ThinkingPart("a"), ThinkingPart("b", signature="1"), ThinkingPart("c", signature="2")
    ) == (ThinkingPart("ab", "1"), ThinkingPart("c", "2"))


def test_a_signature_may_come_without_a_text() -> None:
    assert parts(ThinkingPart(signature="s"), CallStarted("a", "f")) == (
        ThinkingPart(signature="s"),
        ToolCall("a", "f", "{}"),
    )


def test_redacted_thinking_is_a_separate_part_without_events() -> None:
    pipeline = StreamPipeline()
    events = (ThinkingPart("a"), ThinkingPart(redacted="x"), ThinkingPart(redacted="y"))
    feed_all(pipeline, *events, ThinkingPart("b"), END)
    assert pipeline.end_round().parts == (
        ThinkingPart("a"),
        ThinkingPart(redacted="x"),
        ThinkingPart(redacted="y"),
        ThinkingPart("b"),
    )
    assert pipeline.complete() == Complete("", "ab")


def test_empty_thinking_is_no_part() -> None:
    assert parts("<think>\n\n</think>\n\nHello", ThinkingPart(" "), " you") == (
        TextPart("Hello you"),
    )


def test_rounds_are_stripped_separately() -> None:
    pipeline = StreamPipeline()
    feed_all(pipeline, "\nLet me look. ", CallStarted("a", "f"), END)
    assert pipeline.end_round().parts == (TextPart("Let me look."), ToolCall("a", "f", "{}"))
    feed_all(pipeline, " \nSunny.\n", END)
    assert pipeline.end_round() == Round((TextPart("Sunny."),))


def test_white_space_between_two_parts_of_text_is_kept() -> None:
    assert parts("Hello ", ThinkingPart("a"), " ", ThinkingPart("b"), " you ") == (
        TextPart("Hello"),
        ThinkingPart("ab"),
        TextPart("   you"),
    )


def test_white_space_alone_is_no_part() -> None:
    assert parts(" \n", CallStarted("a", "f"), "\n") == (ToolCall("a", "f", "{}"),)


def test_a_call_is_assembled_by_its_id() -> None:
    pipeline = StreamPipeline()
    feed_all(
        pipeline,
        CallStarted("a", "f"),
        CallStarted("b", "g"),
        CallArguments("a", '{"x": "'),
        CallArguments("b", "{}"),
        CallArguments("a", 'é"}'),
        Finished("tool_calls"),
    )
    assert pipeline.end_round().calls == (
        ToolCall("a", "f", '{"x": "é"}'),
        ToolCall("b", "g", "{}"),
    )


def test_no_arguments_are_an_empty_object() -> None:
    assert parts(CallStarted("a", "f"), CallStarted("b", "g"), CallArguments("b", " ")) == (
        ToolCall("a", "f", "{}"),
        ToolCall("b", "g", "{}"),
    )


def test_an_id_that_comes_again_gets_a_number() -> None:
    pipeline = StreamPipeline()
    assert feed_all(
        pipeline,
        CallStarted("a", "f"),
        CallArguments("a", "1"),
        CallStarted("a-2", "g"),
        CallStarted("a", "h"),
        CallArguments("a", "2"),
        END,
    ) == [
        ToolCallStart("a", "f"),
        ToolCallDelta("a", "1"),
        ToolCallStart("a-2", "g"),
        ToolCallStart("a-3", "h"),
        ToolCallDelta("a-3", "2"),
    ]
    pipeline.end_round()
    assert feed_all(pipeline, CallStarted("a", "f"), CallArguments("a", "3"), END) == [
        ToolCallStart("a-4", "f"),
        ToolCallDelta("a-4", "3"),
    ]
    assert [call.id for call in pipeline.complete().tool_calls] == ["a", "a-2", "a-3", "a-4"]
    assert [call.arguments for call in pipeline.complete().tool_calls] == ["1", "{}", "2", "3"]


def test_an_empty_id_gets_one() -> None:
    assert parts(CallStarted("", "f"), CallArguments("", "1"), CallStarted("\x00", "g")) == (
        ToolCall("call", "f", "1"),
        ToolCall("call-2", "g", "{}"),
    )


def test_arguments_are_kept_without_characters_invalid_in_json() -> None:
    valid_json = '{"a": "␄ <think> \x7f\x85",\r\n\t"b": "\\u0000"}'
    assert parts(CallStarted("a", "f"), CallArguments("a", f"\x00{valid_json}\ud83d"))[
        0
    ] == ToolCall("a", "f", valid_json)
    joined_parts = parts(
        CallStarted("a", "f"), CallArguments("a", '"\ud83d'), CallArguments("a", '\ude00"')
    )
    assert json.loads(joined_parts[0].arguments) == "😀"


def test_arguments_of_no_call_are_dropped() -> None:
    pipeline = StreamPipeline()
    feed_all(pipeline, CallStarted("a", "f"), END)
    pipeline.end_round()
    assert feed_all(pipeline, CallArguments("a", "{}"), CallArguments("b", "{}"), "x", END) == [
        TextDelta("x")
    ]
    assert pipeline.end_round() == Round((TextPart("x"),))


def test_half_a_tag_held_back_is_no_part() -> None:
    pipeline = StreamPipeline()
    feed_all(pipeline, "a<thi")
    assert pipeline.end_round().parts == (TextPart("a"),)
    assert feed_all(pipeline, "nk>b") == [TextDelta("\n\nnk>b")]


def test_empty_round_has_no_parts() -> None:
    assert StreamPipeline().end_round() == Round()
