"""Properties of all shortened conversations."""

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
from tests.chat.past import answer, looked_up, plan, user

KINDS = st.sampled_from([user, answer, looked_up])
SIZES = st.one_of(st.integers(1, 300), st.integers(300, 10_000))
LIMITS = st.one_of(st.integers(1, 3_000), st.integers(1_000, 30_000))
TOOLS = (Tool("weather", "Tells the weather.", {"type": "object"}),)
SUMMARIES = st.one_of(st.just("a summary"), st.integers(1, 5_000).map(lambda size: "s" * size))


@st.composite
def conversations(draw: st.DrawFn) -> list[PromptMessage]:
    """Messages of all kinds and sizes, in an order that no provider minds, with gaps between
    their numbers; the last is a user's."""
    number, messages = 0, []
    kinds = draw(st.lists(st.tuples(KINDS, SIZES), max_size=30))
    for kind, size in (*kinds, (user, draw(SIZES))):
        number += draw(st.integers(1, 3))
        messages.append(kind(number, "x" * size))
    return messages


def with_made_summary(context_plan: ContextPlan, text: str = "a summary") -> ContextPlan:
    return context_plan.with_summary(text) if context_plan.task else context_plan


def tokens(turns: Sequence[Turn], tools: Sequence[Tool] = ()) -> int:
    return estimate_tokens(prompt_texts("", tools, turns))


def is_summary(turn: Turn) -> bool:
    return isinstance(turn, UserTurn) and turn.text.startswith(("[Summary of", "[The messages"))


def is_of(turn: Turn, whole: Turn) -> bool:
    """The turn itself, or it with its results cut."""
    if not isinstance(turn, ToolResults) or not isinstance(whole, ToolResults):
        return turn is whole
    return [one.tool_call_id for one in turn.results] == [one.tool_call_id for one in whole.results]


def is_part_of(turns: Sequence[Turn], whole: Sequence[Turn]) -> bool:
    """In the same order, nothing twice."""
    left = iter(whole)
    return all(any(is_of(turn, other) for other in left) for turn in turns)


def check_pairs(turns: Sequence[Turn]) -> None:
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
def test_it_keeps_to_the_limit_where_that_is_possible(
    messages: list[PromptMessage], limit: int, summary: str
) -> None:
    """Nothing is so small as the last message alone, which is never cut."""
    possible = tokens(messages[-1].turns) <= limit
    context_plan = plan(messages, limit=limit)
    for done in (
        context_plan,
        with_made_summary(context_plan, ""),
        with_made_summary(context_plan, summary),
    ):
        assert done.inputs.estimate_tokens(done.turns) <= limit or not possible


@given(conversations(), LIMITS, SUMMARIES)
def test_with_a_summary_it_is_below_the_trigger_where_that_is_possible(
    messages: list[PromptMessage], limit: int, summary: str
) -> None:
    context_plan = plan(messages, limit=limit)
    if context_plan.task and tokens(messages[-1].turns) <= limit * (70 - SUMMARY_PERCENT) // 100:
        made = with_made_summary(context_plan, summary)
        assert made.inputs.estimate_tokens(made.turns) <= limit * 70 // 100


@given(conversations(), LIMITS)
def test_order_is_kept_and_only_the_middle_is_left_out(
    messages: list[PromptMessage], limit: int
) -> None:
    context_plan = plan(messages, limit=limit)
    for done in (context_plan, with_made_summary(context_plan)):
        places = [place for place, turn in enumerate(done.turns) if is_summary(turn)]
        head = done.turns[: places[0]] if places else done.turns
        tail = done.turns[places[0] + 1 :] if places else ()
        assert len(places) <= 1
        assert is_part_of((*head, *tail), turns_of(messages))
        assert head == () or is_of(head[0], messages[0].turns[0]) or len(done.turns) == 1
        assert done.turns[-1] is messages[-1].turns[-1]
        # Messages are complete or missing.
        for message in messages:
            sent = [any(is_of(one, turn) for one in done.turns) for turn in message.turns]
            assert all(sent) or not any(sent)


@given(conversations(), LIMITS)
def test_every_call_is_followed_by_its_result(messages: list[PromptMessage], limit: int) -> None:
    context_plan = plan(messages, limit=limit)
    check_pairs(context_plan.turns)
    check_pairs(with_made_summary(context_plan).turns)


@given(conversations(), LIMITS)
def test_results_are_cut_only_where_they_must_be_and_say_so(
    messages: list[PromptMessage], limit: int
) -> None:
    done = with_made_summary(plan(messages, limit=limit))
    cut = [
        result.content
        for turn in done.turns
        if isinstance(turn, ToolResults)
        for result in turn.results
        if result.content.strip("x")
    ]
    assert all(len(text) <= max(MIN_RESULT_CHARS, limit * 4) for text in cut)
    assert all(" characters left out …]" in text for text in cut)
    if cut:
        assert tokens(turns_of(messages)) > limit * 70 // 100
        # Nothing was cut except the last token and the space for a mark.
        assert (
            done.inputs.estimate_tokens(done.turns) >= limit * 70 // 100 - 20
            or max(map(len, cut)) <= MIN_RESULT_CHARS
        )


@given(conversations(), LIMITS)
def test_short_enough_conversations_are_sent_as_they_are(
    messages: list[PromptMessage], limit: int
) -> None:
    context_plan = plan(messages, limit=limit)
    if tokens(turns_of(messages)) <= limit * 70 // 100:
        assert (context_plan.turns, context_plan.task) == (turns_of(messages), None)


@given(conversations(), LIMITS)
def test_of_more_than_ten_the_ends_are_five_each_where_they_fit(
    messages: list[PromptMessage], limit: int
) -> None:
    done = with_made_summary(plan(messages, limit=limit))
    ends = (*turns_of(messages[:MAX_END_MESSAGES]), *turns_of(messages[-MAX_END_MESSAGES:]))
    if done.state and tokens(ends) <= limit * 60 // 100:
        assert (*done.turns[: len(turns_of(messages[:MAX_END_MESSAGES]))],) == turns_of(
            messages[:MAX_END_MESSAGES]
        )
        assert done.turns[-len(turns_of(messages[-MAX_END_MESSAGES:])) :] == turns_of(
            messages[-MAX_END_MESSAGES:]
        )


@given(conversations(), LIMITS, SUMMARIES)
def test_planning_again_with_the_summary_changes_nothing(
    messages: list[PromptMessage], limit: int, summary: str
) -> None:
    done = with_made_summary(plan(messages, limit=limit), summary)
    assert done == with_made_summary(plan(messages, limit=limit), summary)
    again = plan(messages, limit=limit, state=done.state)
    if done.state:
        assert again == done


@given(conversations(), LIMITS, st.data())
def test_a_conversation_that_grows_loses_nothing(
    messages: list[PromptMessage], limit: int, data: st.DataObject
) -> None:
    """At every length, what is neither sent nor in the summary is nowhere; where no summary would
    help, the limit alone decides."""
    state: Summary | None = None
    for length in sorted(data.draw(st.lists(st.integers(0, len(messages)), max_size=6))):
        done = with_made_summary(plan(messages[:length], limit=limit, state=state))
        state = done.state
        if any("left out]" in text for turn in done.turns for text in prompt_texts("", (), [turn])):
            continue
        covered = range(state.first, state.last + 1) if state else ()
        for message in messages[:length]:
            sent = all(any(is_of(turn, other) for turn in done.turns) for other in message.turns)
            assert sent or message.number in covered or tokens(done.turns) > limit


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
    done = with_made_summary(plan(messages, limit=limit, tools=TOOLS))
    own: list[Turn] = []
    for number, sizes in enumerate(rounds):
        ids = [f"own_{number}_{place}" for place in range(len(sizes))]
        calls = tuple(ToolCall(one, "weather", json.dumps({"n": number})) for one in ids)
        results = (
            ToolOutput(one, "weather", "y" * size) for one, size in zip(ids, sizes, strict=True)
        )
        own += [AssistantTurn((TextPart("Wait."), *calls)), ToolResults(tuple(results))]
        turns = done.turns_with(own)
        check_pairs(turns)
        assert is_part_of(turns, (*done.turns, *own))
        assert len(turns) == len(done.turns) + len(own)
        bare = done.turns_with([turn for turn in own if not isinstance(turn, ToolResults)])
        marks = sum(map(len, rounds[: number + 1])) * 10
        assert tokens(turns, TOOLS) <= max(limit * 90 // 100, tokens(bare, TOOLS) + marks)
        if tokens((*done.turns, *own), TOOLS) <= limit * 70 // 100:
            assert turns == (*done.turns, *own)
