"""The sandwich: of a conversation that grows too long for its model, both ends and a summary.

Above 70 % of the model's limit a prompt of more than ten messages becomes the first five, a summary
of those between, and the last five. The summary is a user's turn of its own: it was made from
what users and tools said, so it gets no more authority than they have, as it would in the system
prompt; and turns of users may follow one another.

The summary is kept with the conversation and used again. Messages that have come to lie between it
and the last five since are sent as they are, until the prompt is above 70 % once more: then a new
summary is made of the old one and of them. So a long conversation costs one more model call now and
then, and not with every message.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chat_app.prompt import PromptMessage, turns_of
from chat_app.request import Tool, Turn, UserTurn
from chat_app.summaries import SummaryTask, transcript
from chat_app.tokens import Count, estimate, texts_of

SANDWICH: Final = "sandwich"
# How many messages each end has.
END: Final = 5
TRIGGER_PERCENT: Final = 70


@dataclass(frozen=True, slots=True)
class Summary:
    """A kept summary, by the names of ContextState's columns: it stands for the prompt's messages
    numbered `first` to `last`, and was made when the prompt had `message_count`."""

    strategy: str
    summary: str
    first: int
    last: int
    message_count: int


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that decides about a prompt, but the summary."""

    messages: tuple[PromptMessage, ...]
    system_prompt: str
    tools: tuple[Tool, ...]
    limit: int
    strategy: str
    count: Count

    def tokens(self, turns: Sequence[Turn]) -> int:
        return self.count(texts_of(self.system_prompt, self.tools, turns))

    def too_long(self, tokens: int) -> bool:
        return tokens * 100 > self.limit * TRIGGER_PERCENT

    def fits(self, state: Summary) -> bool:
        """Whether its range still is what it was when that many messages were there."""
        count = len(self.messages)
        return (
            state.strategy == self.strategy
            and 2 * END < state.message_count <= count
            and self.messages[END].number == state.first
            and self.messages[state.message_count - END - 1].number == state.last
        )


@dataclass(frozen=True, slots=True)
class ContextPlan:
    """What to send. `turns` can be sent in any case. `task`, if there is one, is the summary to be
    made first; without it the prompt is longer than it should be. `state` is the summary to be
    kept with the conversation; None: none, and one that is kept is to be deleted."""

    turns: tuple[Turn, ...]
    estimated_tokens: int
    state: Summary | None
    task: SummaryTask | None
    inputs: Inputs = field(repr=False)

    def summarised(self, text: str) -> "ContextPlan":
        """The plan with the summary that was asked for. An empty one changes nothing."""
        if self.task is None or not text.strip():
            return replace(self, task=None)
        inputs = self.inputs
        first = inputs.messages[END].number
        count = len(inputs.messages)
        return _plan(
            inputs,
            Summary(inputs.strategy, text.strip(), first, self.task.last, count),
        )


def plan_context(
    messages: Sequence[PromptMessage],
    *,
    system_prompt: str,
    tools: Sequence[Tool],
    limit: int,
    strategy: str,
    state: Summary | None,
    count: Count = estimate,
) -> ContextPlan:
    """How to send these messages to a model that takes `limit` tokens. A strategy other than
    `sandwich` sends all of them. What is still too long is sent all the same: the provider
    knows best what it takes."""
    return _plan(
        Inputs(tuple(messages), system_prompt, tuple(tools), limit, strategy, count), state
    )


def _plan(inputs: Inputs, state: Summary | None) -> ContextPlan:
    messages = inputs.messages
    if inputs.strategy != SANDWICH or (state and not inputs.fits(state)):
        state = None
    turns = turns_of(messages)
    tokens = inputs.tokens(turns)
    if inputs.strategy != SANDWICH or len(messages) <= 2 * END or not inputs.too_long(tokens):
        return ContextPlan(turns, tokens, state, None, inputs)

    between = messages[state.message_count - END if state else END : -END]
    if state:
        turns = _sandwich(messages, state.summary, between)
        tokens = inputs.tokens(turns)
    if not between or (state and not inputs.too_long(tokens)):
        return ContextPlan(turns, tokens, state, None, inputs)
    task = SummaryTask(
        first=messages[END].number,
        last=between[-1].number,
        transcript=transcript(
            between,
            state.summary if state else "",
            tokens=inputs.limit * TRIGGER_PERCENT // 100,
            count=inputs.count,
        ),
    )
    return ContextPlan(turns, tokens, state, task, inputs)


def _sandwich(
    messages: Sequence[PromptMessage], summary: str, between: Sequence[PromptMessage]
) -> tuple[Turn, ...]:
    return (
        *turns_of(messages[:END]),
        UserTurn(f"[Summary of the messages that came here]\n{summary}"),
        *turns_of(between),
        *turns_of(messages[-END:]),
    )
