"""What holds for every conversation that is shortened."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from chat_app.context import END, ContextPlan, Summary
from chat_app.events import ToolCall
from chat_app.prompt import PromptMessage, turns_of
from chat_app.request import AssistantTurn, ToolResults, Turn, UserTurn
from chat_app.summaries import INSTRUCTIONS, LEAST_TOKENS
from chat_app.tokens import estimate
from tests.chat.past import answer, looked_up, plan, user

KINDS = st.sampled_from([user, answer, looked_up])
SIZES = st.integers(1, 300)


@st.composite
def conversations(draw: st.DrawFn) -> list[PromptMessage]:
    """Messages of all kinds and sizes, in an order that no provider minds, with gaps between
    their numbers."""
    number, messages = 0, []
    for kind, size in draw(st.lists(st.tuples(KINDS, SIZES), max_size=30)):
        number += draw(st.integers(1, 3))
        messages.append(kind(number, "x" * size))
    return messages


def made(found: ContextPlan) -> ContextPlan:
    return found.summarised("a summary") if found.task else found


def is_part_of(turns: tuple[Turn, ...], whole: tuple[Turn, ...]) -> bool:
    """In the same order, nothing twice."""
    left = iter(whole)
    return all(any(turn is other for other in left) for turn in turns)


@given(conversations(), st.integers(1, 3000))
def test_the_ends_are_never_dropped_and_order_is_kept(
    messages: list[PromptMessage], limit: int
) -> None:
    done = made(plan(messages, limit=limit))
    first, last = turns_of(messages[:END]), turns_of(messages[-END:])
    assert done.turns[: len(first)] == first
    assert done.turns[len(done.turns) - len(last) :] == last
    summaries = [
        index
        for index, turn in enumerate(done.turns)
        if isinstance(turn, UserTurn) and turn.text.endswith("a summary")
    ]
    assert summaries == ([len(first)] if done.state else [])
    said = tuple(turn for index, turn in enumerate(done.turns) if index not in summaries)
    assert is_part_of(said, turns_of(messages))


@given(conversations(), st.integers(1, 3000))
def test_every_call_is_followed_by_its_result(messages: list[PromptMessage], limit: int) -> None:
    turns = made(plan(messages, limit=limit)).turns
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


@given(conversations(), st.integers(1, 3000))
def test_planning_again_with_the_summary_changes_nothing(
    messages: list[PromptMessage], limit: int
) -> None:
    done = made(plan(messages, limit=limit))
    assert plan(messages, limit=limit, state=done.state) == done


@given(conversations(), st.integers(1, 3000))
def test_it_is_shortened_only_when_it_must_be(messages: list[PromptMessage], limit: int) -> None:
    found = plan(messages, limit=limit)
    must = len(messages) > 10 and found.estimated_tokens > limit * 0.7
    assert (found.task is not None) is must


@given(conversations(), st.integers(1, 3000), st.data())
def test_a_conversation_that_grows_loses_nothing(
    messages: list[PromptMessage], limit: int, data: st.DataObject
) -> None:
    """At every length, what is neither sent nor in the summary is nowhere."""
    state: Summary | None = None
    for length in sorted(data.draw(st.lists(st.integers(0, len(messages)), max_size=6))):
        done = made(plan(messages[:length], limit=limit, state=state))
        state = done.state
        covered = range(state.first, state.last + 1) if state else ()
        for message in messages[:length]:
            sent = all(any(turn is other for other in done.turns) for turn in message.turns)
            assert sent or message.number in covered


@given(conversations(), st.integers(1, 3000))
def test_a_request_for_a_summary_fits_the_limit(messages: list[PromptMessage], limit: int) -> None:
    found = plan(messages, limit=limit)
    if found.task:
        tokens = estimate((INSTRUCTIONS, found.task.transcript))
        assert tokens <= max(limit * 70 // 100, LEAST_TOKENS)
