"""Requirement 002's stream events: clean, split by kind, in order, equal to the final text."""

import pytest

from chat_app.stream import StreamPipeline
from chat_app.values.events import (
    Complete,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
)
from chat_app.values.model_call import (
    CallArguments,
    CallStarted,
    ProviderEvent,
    TextPart,
    ThinkingPart,
)
from tests.chat.pipelines import END, feed_all, run_events, text_and_thinking


@pytest.mark.parametrize(
    "pieces", [("Hello␄",), ("Hello", "␄"), ("Hel", "lo␄ and more", "more"), ("Hello␄␄",)]
)
def test_ch_t1_text_deltas_have_no_markers(pieces: tuple[str, ...]) -> None:
    assert text_and_thinking(*pieces) == ("Hello", "")


@pytest.mark.parametrize(
    "events",
    [
        (ThinkingPart("hmm␄"), "Hello"),
        (ThinkingPart("h␄m"), ThinkingPart("␄m"), "Hello"),
        ("<think>h␄mm</think>Hello",),
        ("<think>hmm␄", "</th", "ink>", "Hello"),
        ("<think>hmm</thi␄nk>Hello",),
        ("<think>hmm</thi", "␄", "nk>Hello"),
    ],
)
def test_ch_t2_thinking_deltas_have_no_markers(events: tuple[TextPart | str, ...]) -> None:
    assert text_and_thinking(*events) == ("Hello", "hmm")


def test_ch_t3_complete_has_the_clean_text() -> None:
    pipeline = StreamPipeline()
    deltas = feed_all(
        pipeline, " \n<think>x</think>\n\nHel\x00lo ", "\x1b\x7f\x9fworld \n", "␄ dropped"
    )
    assert deltas == [ThinkingDelta("x"), TextDelta("Hello"), TextDelta(" world")]
    assert pipeline.complete().text == "Hello world"


def test_ch_t4_complete_has_the_clean_thinking() -> None:
    pipeline = StreamPipeline()
    feed_all(pipeline, ThinkingPart("\n h␄m\x00m "), "Hello", END)
    assert pipeline.complete().thinking == "hmm"


def test_ch_t4_no_thinking_is_none() -> None:
    pipeline = StreamPipeline()
    feed_all(pipeline, "<think> \n</think>Hello", END)
    assert pipeline.complete() == Complete("Hello")


def test_ch_t5_cancelled_answer_is_complete_with_the_sent_text() -> None:
    pipeline = StreamPipeline()
    deltas = feed_all(
        pipeline,
        ThinkingPart("because"),
        "Hello wor \n<thi",
        CallStarted("a", "f"),
        CallArguments("a", '{"x'),
        " <",
    )
    assert deltas[:2] == [ThinkingDelta("because"), TextDelta("Hello wor")]
    assert pipeline.complete() == Complete(
        "Hello wor \n<thi", "because", (ToolCall("a", "f", '{"x'),)
    )


def test_ch_t5_text_held_back_is_not_in_the_answer() -> None:
    pipeline = StreamPipeline()
    assert feed_all(pipeline, "Hello \n<thi") == [TextDelta("Hello")]
    assert pipeline.complete() == Complete("Hello")


def test_text_is_sent_piece_by_piece() -> None:
    assert run_events("Hel", "lo", " ", "world") == [
        TextDelta("Hel"),
        TextDelta("lo"),
        TextDelta(" world"),
    ]


def test_one_piece_may_give_several_kinds_of_events() -> None:
    assert run_events("a<think>b</think>c") == [TextDelta("a"), ThinkingDelta("b"), TextDelta("c")]


@pytest.mark.parametrize("control", [*map(chr, range(32)), *map(chr, range(127, 160))])
def test_control_characters_but_newline_and_tab_are_removed(control: str) -> None:
    expected = f"a{control}b" if control in "\n\t" else "ab"
    assert text_and_thinking(f"a{control}b") == (expected, "")
    assert text_and_thinking(ThinkingPart(f"a{control}b")) == ("", expected)


def test_lone_surrogates_are_dropped() -> None:
    assert text_and_thinking("a\ud83db", "\ude00c\ud83d", ThinkingPart("x\ude00y\ud83d")) == (
        "abc",
        "xy",
    )


@pytest.mark.parametrize("end", [{"signature": "sig"}, {"redacted": "c2VjcmV0"}])
def test_half_a_pair_of_surrogates_before_the_end_of_a_thinking_part_is_dropped(
    end: dict[str, str],
) -> None:
    assert text_and_thinking(ThinkingPart("\ud83d", **end), ThinkingPart("\ude00")) == ("", "")


def test_a_pair_of_surrogates_becomes_its_character_wherever_it_is_cut() -> None:
    assert run_events("a\ud83d", "\ude00b") == [TextDelta("a"), TextDelta("😀b")]
    assert text_and_thinking(ThinkingPart("\ud83d"), ThinkingPart("\ude00")) == ("", "😀")


@pytest.mark.parametrize("between", [ThinkingPart("x"), CallStarted("a", "f")])
def test_half_a_surrogate_pair_before_another_event_is_dropped(
    between: ProviderEvent,
) -> None:
    assert text_and_thinking("\ud83d", between, "\ude00")[0] == ""


@pytest.mark.parametrize("between", [TextPart("x"), CallStarted("a", "f")])
def test_half_a_character_of_thinking_is_dropped(between: ProviderEvent) -> None:
    assert text_and_thinking(ThinkingPart("\ud83d"), between, ThinkingPart("\ude00"))[1] == ""


@pytest.mark.parametrize("character", ["\U00010000", "\U0010ffff"])
def test_first_and_last_surrogate_pairs_become_characters(character: str) -> None:
    halves = character.encode("utf-16-le")
    first, second = (half.decode("utf-16-le", "surrogatepass") for half in (halves[:2], halves[2:]))
    assert text_and_thinking(first, second) == (character, "")


def test_the_cursor_of_a_user_interface_is_a_character_like_any_other() -> None:
    assert text_and_thinking("▌") == ("▌", "")


def test_white_space_waits_for_more_text() -> None:
    pipeline = StreamPipeline()
    assert feed_all(pipeline, " \n") == []
    assert feed_all(pipeline, " Hello \n") == [TextDelta("Hello")]
    assert feed_all(pipeline, "\t") == []
    assert feed_all(pipeline, "world") == [TextDelta(" \n\tworld")]
    assert feed_all(pipeline, " ", END) == []


def test_rounds_are_paragraphs() -> None:
    pipeline = StreamPipeline()
    feed_all(pipeline, " Let me look. ", CallStarted("a", "f"), END)
    pipeline.end_round()
    assert feed_all(pipeline, "\nSun", "ny. ", END) == [TextDelta("\n\nSun"), TextDelta("ny.")]
    pipeline.end_round()
    assert feed_all(pipeline, "Warm.") == [TextDelta("\n\nWarm.")]
    assert pipeline.complete().text == "Let me look.\n\nSunny.\n\nWarm."


def test_thoughts_of_rounds_are_paragraphs() -> None:
    pipeline = StreamPipeline()
    feed_all(pipeline, ThinkingPart("Where?"), CallStarted("a", "f"), END)
    pipeline.end_round()
    assert feed_all(pipeline, "<think> Here.</think>", END) == [ThinkingDelta("\n\nHere.")]
    assert pipeline.complete().thinking == "Where?\n\nHere."


def test_text_after_a_tool_call_starts_a_new_paragraph() -> None:
    assert text_and_thinking(
        "First.", CallStarted("a", "f"), " Then ", "more.", CallStarted("b", "f")
    ) == (
        "First.\n\nThen more.",
        "",
    )


@pytest.mark.parametrize("silent", [(), (" \n",), (ThinkingPart("hm"),)])
def test_a_round_without_a_text_leaves_no_blank_line(silent: tuple[ProviderEvent | str]) -> None:
    pipeline = StreamPipeline()
    for events in (silent, ("One.",), silent, silent, (" ", "Two."), silent):
        feed_all(pipeline, *events, CallStarted("a", "f"), END)
        pipeline.end_round()
    assert pipeline.complete().text == "One.\n\nTwo."


def test_the_next_prompt_has_the_rounds_without_blank_lines() -> None:
    pipeline = StreamPipeline()
    feed_all(pipeline, "One.", CallStarted("a", "f"), END)
    pipeline.end_round()
    feed_all(pipeline, "Two.", END)
    assert pipeline.end_round().parts == (TextPart("Two."),)


def test_thinking_and_text_are_stripped_separately() -> None:
    assert run_events(ThinkingPart(" a "), " b ", ThinkingPart(" c "), " d ") == [
        ThinkingDelta("a"),
        TextDelta("b"),
        ThinkingDelta("  c"),
        TextDelta("  d"),
    ]


def test_call_events_come_as_they_arrive() -> None:
    assert run_events(
        "I look.",
        CallStarted("a", "f"),
        CallArguments("a", '{"x":'),
        CallStarted("b", "g"),
        CallArguments("a", " 1}"),
    ) == [
        TextDelta("I look."),
        ToolCallStart("a", "f"),
        ToolCallDelta("a", '{"x":'),
        ToolCallStart("b", "g"),
        ToolCallDelta("a", " 1}"),
    ]


def test_half_a_tag_is_sent_before_a_following_call() -> None:
    assert run_events("a <thi", CallStarted("a", "f")) == [
        TextDelta("a"),
        TextDelta(" <thi"),
        ToolCallStart("a", "f"),
    ]


def test_all_events_after_end_of_text_are_dropped() -> None:
    pipeline = StreamPipeline()
    assert feed_all(pipeline, "bye ␄", "x", ThinkingPart("y"), CallStarted("a", "f"), END) == [
        TextDelta("bye")
    ]
    assert pipeline.ended
    assert pipeline.complete() == Complete("bye")
    assert pipeline.end_round().calls == ()


def test_half_a_tag_before_the_end_of_text_is_text() -> None:
    assert text_and_thinking("a <thi␄nk>b") == ("a <thi", "")


def test_a_marker_in_thinking_does_not_end_the_answer() -> None:
    pipeline = StreamPipeline()
    feed_all(pipeline, ThinkingPart("a␄"), "<think>b␄")
    assert not pipeline.ended


def test_round_after_an_end_mark_is_processed() -> None:
    pipeline = StreamPipeline()
    feed_all(pipeline, CallStarted("a", "f"), "␄")
    assert pipeline.ended
    assert pipeline.end_round().calls == (ToolCall("a", "f", "{}"),)
    assert not pipeline.ended
    assert feed_all(pipeline, "Sunny.␄") == [TextDelta("Sunny.")]


def test_a_hundred_thousand_pieces_make_one_answer() -> None:
    pipeline = StreamPipeline()
    feed = pipeline.feed
    event_count = 0
    for _ in range(20_000):
        for piece in ("wo", "rd <", "think", ">t", "</think> "):
            event_count += len(feed(TextPart(piece)))
    assert event_count == 60_000
    feed(END)
    complete = pipeline.complete()
    assert complete.text == " ".join(["word "] * 20_000).rstrip()
    assert complete.thinking == "t" * 20_000
