"""Properties of shortened conversations."""

import json
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from chat_app.prompt.context import (
    MAX_END_MESSAGES,
    MIN_RESULT_CHARS,
    SUMMARY_PERCENT,
    ContextPlan,
    Summary,
)
from chat_app.prompt.length import estimate_tokens, prompt_texts
from chat_app.prompt.messages import PromptMessage, turns_of
from chat_app.prompt.summaries import INSTRUCTIONS, MIN_TRANSCRIPT_TOKENS
from chat_app.values.events import ToolCall
from chat_app.values.model_call import (
    AssistantTurn,
    TextPart,
    Tool,
    ToolOutput,
    ToolResults,
    Turn,
    UserTurn,
)
from tests.chat.message_builders import answer, answer_with_tool, plan, user

KINDS = st.sampled_from([user, answer, answer_with_tool])
SIZES = st.one_of(st.integers(1, 300), st.integers(300, 10_000))
LIMITS = st.one_of(st.integers(1, 3_000), st.integers(1_000, 30_000))
TOOLS = (Tool("weather", "Tells the weather.", {"type": "object"}),)
SUMMARIES = st.one_of(st.just("a summary"), st.integers(1, 5_000).map(lambda size: "s" * size))


@st.composite
def conversations(draw: st.DrawFn) -> list[PromptMessage]:
    """Draw messages of all kinds and sizes with gaps in their numbers; the last is a user's."""
    number, messages = 0, []
    kinds = draw(st.lists(st.tuples(KINDS, SIZES), max_size=30))
    for kind, size in (*kinds, (user, draw(SIZES))):
        number += draw(st.integers(1, 3))
        messages.append(kind(number, "x" * size))
    return messages


def with_summary_if_needed(context_plan: ContextPlan, text: str = "a summary") -> ContextPlan:
    return context_plan.with_summary(text) if context_plan.task else context_plan


def count_tokens(turns: Sequence[Turn], tools: Sequence[Tool] = ()) -> int:
    return estimate_tokens(prompt_texts("", tools, turns))


def is_summary(turn: Turn) -> bool:
    return isinstance(turn, UserTurn) and turn.text.startswith(("[Summary of", "[The messages"))


def is_turn_of(turn: Turn, original: Turn) -> bool:
    """Whether `turn` is the original turn or its copy with shortened results."""
    if not isinstance(turn, ToolResults) or not isinstance(original, ToolResults):
        return turn is original
    return [result.tool_call_id for result in turn.results] == [
        result.tool_call_id for result in original.results
    ]


def is_subsequence(turns: Sequence[Turn], originals: Sequence[Turn]) -> bool:
    """Whether `turns` is a subsequence of the original turns."""
    remaining = iter(originals)
    return all(any(is_turn_of(turn, original) for original in remaining) for turn in turns)


def assert_calls_have_results(turns: Sequence[Turn]) -> None:
    for turn, following in pairwise((*turns, None)):
        calls = (
            [part.id for part in turn.parts if isinstance(part, ToolCall)]
            if isinstance(turn, AssistantTurn)
            else []
        )
        results = (
            [result.tool_call_id for result in following.results]
            if isinstance(following, ToolResults)
            else []
        )
        assert calls == results


@given(conversations(), LIMITS, SUMMARIES)
def test_prompt_keeps_to_the_limit_where_possible(
    messages: list[PromptMessage], limit: int, summary: str
) -> None:
    """The last message alone is the minimum and is never cut."""
    possible = count_tokens(messages[-1].turns) <= limit
    context_plan = plan(messages, limit=limit)
    for final_plan in (
        context_plan,
        with_summary_if_needed(context_plan, ""),
        with_summary_if_needed(context_plan, summary),
    ):
        assert final_plan.inputs.estimate_tokens(final_plan.turns) <= limit or not possible


@given(conversations(), LIMITS, SUMMARIES)
def test_prompt_with_summary_is_below_the_trigger_where_possible(
    messages: list[PromptMessage], limit: int, summary: str
) -> None:
    context_plan = plan(messages, limit=limit)
    if (
        context_plan.task
        and count_tokens(messages[-1].turns) <= limit * (70 - SUMMARY_PERCENT) // 100
    ):
        summarised = with_summary_if_needed(context_plan, summary)
        assert summarised.inputs.estimate_tokens(summarised.turns) <= limit * 70 // 100


@given(conversations(), LIMITS)
def test_order_is_kept_and_only_the_middle_is_left_out(
    messages: list[PromptMessage], limit: int
) -> None:
    context_plan = plan(messages, limit=limit)
    for final_plan in (context_plan, with_summary_if_needed(context_plan)):
        summary_indexes = [index for index, turn in enumerate(final_plan.turns) if is_summary(turn)]
        head = final_plan.turns[: summary_indexes[0]] if summary_indexes else final_plan.turns
        tail = final_plan.turns[summary_indexes[0] + 1 :] if summary_indexes else ()
        assert len(summary_indexes) <= 1
        assert is_subsequence((*head, *tail), turns_of(messages))
        assert head == () or is_turn_of(head[0], messages[0].turns[0]) or len(final_plan.turns) == 1
        assert final_plan.turns[-1] is messages[-1].turns[-1]
        # Messages are complete or missing.
        for message in messages:
            are_sent = [
                any(is_turn_of(sent_turn, turn) for sent_turn in final_plan.turns)
                for turn in message.turns
            ]
            assert all(are_sent) or not any(are_sent)


@given(conversations(), LIMITS)
def test_every_call_is_followed_by_its_result(messages: list[PromptMessage], limit: int) -> None:
    context_plan = plan(messages, limit=limit)
    assert_calls_have_results(context_plan.turns)
    assert_calls_have_results(with_summary_if_needed(context_plan).turns)


@given(conversations(), LIMITS)
def test_results_are_cut_only_where_they_must_be_and_say_so(
    messages: list[PromptMessage], limit: int
) -> None:
    final_plan = with_summary_if_needed(plan(messages, limit=limit))
    cut = [
        result.content
        for turn in final_plan.turns
        if isinstance(turn, ToolResults)
        for result in turn.results
        if result.content.strip("x")
    ]
    assert all(len(text) <= max(MIN_RESULT_CHARS, limit * 4) for text in cut)
    assert all(" characters left out …]" in text for text in cut)
    if cut:
        assert count_tokens(turns_of(messages)) > limit * 70 // 100
        # Nothing was cut except the last token and the space for a mark.
        assert (
            final_plan.inputs.estimate_tokens(final_plan.turns) >= limit * 70 // 100 - 20
            or max(map(len, cut)) <= MIN_RESULT_CHARS
        )


@given(conversations(), LIMITS)
def test_short_enough_conversations_are_sent_as_they_are(
    messages: list[PromptMessage], limit: int
) -> None:
    context_plan = plan(messages, limit=limit)
    if count_tokens(turns_of(messages)) <= limit * 70 // 100:
        assert (context_plan.turns, context_plan.task) == (turns_of(messages), None)


@given(conversations(), LIMITS)
def test_ends_have_five_messages_each_where_they_fit(
    messages: list[PromptMessage], limit: int
) -> None:
    final_plan = with_summary_if_needed(plan(messages, limit=limit))
    ends = (*turns_of(messages[:MAX_END_MESSAGES]), *turns_of(messages[-MAX_END_MESSAGES:]))
    if final_plan.state and count_tokens(ends) <= limit * 60 // 100:
        assert (*final_plan.turns[: len(turns_of(messages[:MAX_END_MESSAGES]))],) == turns_of(
            messages[:MAX_END_MESSAGES]
        )
        assert final_plan.turns[-len(turns_of(messages[-MAX_END_MESSAGES:])) :] == turns_of(
            messages[-MAX_END_MESSAGES:]
        )


@given(conversations(), LIMITS, SUMMARIES)
def test_planning_again_with_the_summary_changes_nothing(
    messages: list[PromptMessage], limit: int, summary: str
) -> None:
    final_plan = with_summary_if_needed(plan(messages, limit=limit), summary)
    assert final_plan == with_summary_if_needed(plan(messages, limit=limit), summary)
    again = plan(messages, limit=limit, state=final_plan.state)
    if final_plan.state:
        assert again == final_plan


@given(conversations(), LIMITS, st.data())
def test_growing_conversation_loses_no_message(
    messages: list[PromptMessage], limit: int, data: st.DataObject
) -> None:
    """At every length, each message is sent or summarised, unless the prompt exceeds the limit."""
    state: Summary | None = None
    for length in sorted(data.draw(st.lists(st.integers(0, len(messages)), max_size=6))):
        final_plan = with_summary_if_needed(plan(messages[:length], limit=limit, state=state))
        state = final_plan.state
        if any(
            "left out]" in text
            for turn in final_plan.turns
            for text in prompt_texts("", (), [turn])
        ):
            continue
        covered = range(state.first, state.last + 1) if state else ()
        for message in messages[:length]:
            is_sent = all(
                any(is_turn_of(turn, other) for turn in final_plan.turns) for other in message.turns
            )
            assert is_sent or message.number in covered or count_tokens(final_plan.turns) > limit


@given(conversations(), LIMITS)
def test_a_request_for_a_summary_fits_the_limit(messages: list[PromptMessage], limit: int) -> None:
    context_plan = plan(messages, limit=limit)
    if context_plan.task:
        request_tokens = estimate_tokens((INSTRUCTIONS, context_plan.task.transcript))
        assert request_tokens <= max(limit * 70 // 100, MIN_TRANSCRIPT_TOKENS)


@given(conversations(), LIMITS, st.lists(st.lists(SIZES, min_size=1, max_size=3), max_size=6))
def test_an_answer_that_calls_tools_keeps_to_the_limit_where_that_is_possible(
    messages: list[PromptMessage], limit: int, rounds: list[list[int]]
) -> None:
    final_plan = with_summary_if_needed(plan(messages, limit=limit, tools=TOOLS))
    new_turns: list[Turn] = []
    for number, sizes in enumerate(rounds):
        ids = [f"own_{number}_{index}" for index in range(len(sizes))]
        calls = tuple(ToolCall(call_id, "weather", json.dumps({"n": number})) for call_id in ids)
        results = (
            ToolOutput(call_id, "weather", "y" * size)
            for call_id, size in zip(ids, sizes, strict=True)
        )
        new_turns += [AssistantTurn((TextPart("Wait."), *calls)), ToolResults(tuple(results))]
        turns = final_plan.turns_with(new_turns)
        assert_calls_have_results(turns)
        assert is_subsequence(turns, (*final_plan.turns, *new_turns))
        assert len(turns) == len(final_plan.turns) + len(new_turns)
        without_results = final_plan.turns_with(
            [turn for turn in new_turns if not isinstance(turn, ToolResults)]
        )
        marks = sum(map(len, rounds[: number + 1])) * 10
        assert count_tokens(turns, TOOLS) <= max(
            limit * 90 // 100, count_tokens(without_results, TOOLS) + marks
        )
        if count_tokens((*final_plan.turns, *new_turns), TOOLS) <= limit * 70 // 100:
            assert turns == (*final_plan.turns, *new_turns)
