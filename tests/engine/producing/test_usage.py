"""Token usage: scripted counts, or counts of characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    Choice,
    Message,
    ScriptedUsage,
    Tool,
    Usage,
)
from scenarios_app.engine.parts import (
    AnswerPart,
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from scenarios_app.engine.producing.usage import count_input, count_output, count_tokens, usage_of

NO_USAGE = ScriptedUsage()


def request_of(*parts: object, tools: tuple[Tool, ...] = ()) -> CanonicalRequest:
    messages = tuple(Message("user", (part,)) for part in parts)
    return CanonicalRequest("openai", "/p", "/p", "m", messages=messages, tools=tools)


def choices_of(*parts: object) -> tuple[Choice, ...]:
    return (Choice(parts, "stop"),)


@pytest.mark.parametrize(("characters", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2)])
def test_tokens_are_quarters_of_characters_rounded_up(characters: int, tokens: int) -> None:
    assert count_tokens(characters) == tokens


def test_every_message_and_tool_counts_as_input() -> None:
    parts = (
        TextPart("a" * 10),
        ReasoningPart("b" * 20, signature="not counted"),
        ToolCallPart("id", "c" * 30, "d" * 40),
        ToolResultPart("id", "not counted again", "e" * 50),
        RefusalPart("f" * 60),
        OpaquePart("image"),
    )
    tools = (Tool("g" * 70, "h" * 80), Tool("", "", {"k": "ä"}))
    characters = 10 + 20 + 30 + 40 + 50 + 60 + 70 + 80 + len('{"k":"ä"}')
    assert count_input(request_of(*parts, tools=tools)) == -(-characters // 4)


def test_every_choice_counts_as_output() -> None:
    first_choice = Choice((TextPart("a" * 5), ReasoningPart("b" * 6)), "stop")
    second_choice = Choice((ToolCallPart("id", "cc", "d" * 7), RefusalPart("eeee")), "stop")
    assert count_output((first_choice, second_choice)) == 6


def test_part_without_text_counts_no_tokens() -> None:
    parts = (TextPart("abcd"), OpaquePart("image"))
    assert count_input(request_of(*parts)) == count_input(request_of(*parts[:1])) == 1


def test_characters_are_counted_together_before_rounding() -> None:
    assert count_input(request_of(TextPart("a"), TextPart("b"), TextPart("c"))) == 1


def test_empty_request_and_answer_cost_one_token_each() -> None:
    usage = usage_of(request_of(), choices_of(), NO_USAGE)
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (1, 1, 2)


def test_scripted_usage_overrides_counts() -> None:
    usage = usage_of(
        request_of(TextPart("a" * 40)),
        choices_of(TextPart("b" * 40), ReasoningPart("c" * 8)),
        ScriptedUsage(input_tokens=64, cached_tokens=3),
    )
    assert usage == Usage(64, 12, reasoning_tokens=2, cached_tokens=3)


def test_scripted_zero_is_kept() -> None:
    zero = ScriptedUsage(0, 0, 0, 0)
    answer = choices_of(ReasoningPart("thought"))
    assert usage_of(request_of(), answer, zero) == Usage(0, 0, 0, 0)


def test_counted_reasoning_is_never_more_than_the_scripted_output() -> None:
    answer = choices_of(ReasoningPart("c" * 400))
    scripted = ScriptedUsage(output_tokens=32)
    usage = usage_of(request_of(), answer, scripted)
    assert usage.reasoning_tokens == 32


@given(st.lists(st.text(max_size=30)), st.lists(st.text(max_size=30)))
def test_counted_reasoning_is_a_part_of_counted_output(
    texts: list[str], thoughts: list[str]
) -> None:
    answer = choices_of(*map(TextPart, texts), *map(ReasoningPart, thoughts))
    usage = usage_of(request_of(), answer, NO_USAGE)
    assert 0 <= usage.reasoning_tokens <= usage.output_tokens
    assert usage.output_tokens * 4 >= len("".join(texts + thoughts))


def test_cache_tokens_are_not_part_of_input_tokens() -> None:
    scripted = ScriptedUsage(9, 2, cache_read_tokens=4, cache_write_tokens=5)
    usage = usage_of(request_of(), choices_of(), scripted)
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (9, 4, 5)
    assert usage.total_tokens == 11


def test_scripted_total_overrides_the_sum() -> None:
    scripted = ScriptedUsage(9, 2, total_tokens=20)
    usage = usage_of(request_of(), choices_of(), scripted)
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (9, 2, 20)


REQUEST_WITH_THINKING = replace(request_of(), thought_tokens=64)
REQUEST_WITH_CACHE = replace(request_of(), cached_tokens=1_024)


def test_unscripted_reasoning_tokens_are_added_to_the_output() -> None:
    plain_usage = usage_of(request_of(), choices_of(TextPart("x" * 40)), NO_USAGE)
    usage = usage_of(REQUEST_WITH_THINKING, choices_of(TextPart("x" * 40)), NO_USAGE)
    assert (usage.reasoning_tokens, usage.output_tokens) == (64, plain_usage.output_tokens + 64)


@pytest.mark.parametrize(
    ("scripted", "parts", "reasoning"),
    [
        (ScriptedUsage(output_tokens=7), (), 0),
        (ScriptedUsage(reasoning_tokens=3), (), 3),
        (ScriptedUsage(reasoning_tokens=0), (), 0),
        (NO_USAGE, (ReasoningPart("x" * 40),), 10),
    ],
)
def test_scripted_counts_override_thinking_tokens(
    scripted: ScriptedUsage, parts: tuple[AnswerPart, ...], reasoning: int
) -> None:
    usage = usage_of(REQUEST_WITH_THINKING, choices_of(*parts), scripted)
    assert usage.reasoning_tokens == reasoning


def test_tokens_of_a_named_cache_are_part_of_counted_input() -> None:
    usage = usage_of(REQUEST_WITH_CACHE, choices_of(), NO_USAGE)
    plain_usage = usage_of(request_of(), choices_of(), NO_USAGE)
    assert usage.input_tokens == plain_usage.input_tokens + 1_024
    assert (usage.cached_tokens, plain_usage.cached_tokens) == (1_024, 0)


@pytest.mark.parametrize(
    ("scripted", "cached"),
    [
        (ScriptedUsage(input_tokens=9), 0),
        (ScriptedUsage(input_tokens=9, cached_tokens=4), 4),
        (ScriptedUsage(cached_tokens=4), 4),
    ],
)
def test_scripted_counts_override_the_tokens_of_a_named_cache(
    scripted: ScriptedUsage, cached: int
) -> None:
    usage = usage_of(REQUEST_WITH_CACHE, choices_of(), scripted)
    assert usage.cached_tokens == cached
