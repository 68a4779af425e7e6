"""The sandwich: of a conversation that grows too long for its model, both ends and a summary.

A prompt above 70 % of the model's limit is shortened, however many messages it has. First long
results of tools lose their middles. Where that is not enough, the messages between the first five
and the last five become a summary; where ten messages have too many tokens themselves, the ends are
shorter, and the last of all is the user's message alone. A message is sent whole or not at all but
for results in it, so that a call of a tool stays with its result.

The summary is a user's turn of its own: it was made from what users and tools said, so it gets no
more authority than they have, as it would in the system prompt; and turns of users may follow one
another. It is kept with the conversation and used again. Messages that come to lie behind its range
are sent as they are, until the prompt is above 70 % once more: then a new summary is made of the
old one and of what has come to lie in the middle.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chat_app.prompt.messages import PromptMessage, turns_of
from chat_app.prompt.sandwich import LEAST_RESULT, TRIGGER_PERCENT, Inputs
from chat_app.prompt.shorten import shorten_results
from chat_app.prompt.summaries import SummaryTask, transcript
from chat_app.values.request import Tool, ToolResults, Turn

SANDWICH: Final = "sandwich"
# Up to here the results of tools that are called for this answer are sent whole.
ANSWER_PERCENT: Final = 90
_SUMMARY: Final = "[Summary of the messages that came here]\n"
_LEFT_OUT: Final = "[The messages that came here are left out]"


@dataclass(frozen=True, slots=True)
class Summary:
    """A kept summary, by the names of ContextState's columns: it stands for the prompt's messages
    numbered `first` to `last`, of which the last was the `message_count`-th."""

    strategy: str
    summary: str
    first: int
    last: int
    message_count: int


@dataclass(frozen=True, slots=True)
class ContextPlan:
    """What to send. `turns` can be sent in any case. `task`, if there is one, is the summary to be
    made first; without it the prompt is longer than it should be, or says less. `state` is the
    summary to be kept with the conversation; None: none, and one that is kept is to be deleted.
    `whole` are the turns with nothing cut from their results."""

    turns: tuple[Turn, ...]
    whole: tuple[Turn, ...] = field(repr=False)
    estimated_tokens: int
    state: Summary | None
    task: SummaryTask | None
    inputs: Inputs = field(repr=False)

    def summarised(self, text: str) -> "ContextPlan":
        """The plan with the summary that was asked for. An empty one changes nothing."""
        if self.task is None or not text.strip():
            return replace(self, task=None)
        first, last = self.task.first, self.task.last
        count = self.inputs.places(first, last).stop
        state = Summary(self.inputs.strategy, text.strip(), first, last, count)
        return _plan(self.inputs, state)

    def going_on(self, own: Sequence[Turn]) -> tuple[Turn, ...]:
        """What to send later on in the same answer, `own` being what the model and its tools said
        until then. Above 70 % of the limit earlier results are shortened, above 90 % those of
        this answer too, the latest last."""
        turns = (*self.whole, *own)
        inputs, before = self.inputs, len(self.whole)
        if inputs.strategy != SANDWICH:
            return turns
        turns = shorten_results(
            turns,
            inputs,
            most=inputs.share(TRIGGER_PERCENT),
            least=LEAST_RESULT,
            among=slice(before),
        )
        latest = max(
            (place for place, turn in enumerate(turns) if isinstance(turn, ToolResults)),
            default=before,
        )
        for among in (slice(before, latest), slice(max(before, latest), None)):
            most = inputs.share(ANSWER_PERCENT)
            turns = shorten_results(turns, inputs, most=most, least=0, among=among)
        return turns


def plan_context(
    messages: Sequence[PromptMessage],
    *,
    system_prompt: str,
    tools: Sequence[Tool],
    limit: int,
    strategy: str,
    state: Summary | None,
) -> ContextPlan:
    """How to send these messages to a model that takes `limit` tokens. A strategy other than
    `sandwich` sends all of them. What is still too long is sent all the same: the provider
    knows best what it takes."""
    return _plan(Inputs(tuple(messages), system_prompt, tuple(tools), limit, strategy), state)


def _plan(inputs: Inputs, state: Summary | None) -> ContextPlan:
    whole = turns_of(inputs.messages)
    if inputs.strategy != SANDWICH:
        return ContextPlan(whole, whole, inputs.tokens(whole), None, None, inputs)
    covered = _covered(inputs, state)
    if not covered:
        state = None
    turns = inputs.shortened(whole)
    if state and inputs.too_long(turns):
        whole = inputs.sandwich(covered, _SUMMARY + state.summary)
        turns = inputs.shortened(whole)
    task = None
    if inputs.too_long(turns) and (middle := inputs.middle(covered)) != covered:
        task = _task(inputs, middle, covered, state.summary if state else "")
        if inputs.tokens(turns) > inputs.limit:
            known = [_SUMMARY + state.summary] if state else []
            whole = inputs.sandwich(middle, "\n\n".join((*known, _LEFT_OUT)))
            turns = inputs.shortened(whole)
    return ContextPlan(turns, whole, inputs.tokens(turns), state, task, inputs)


def _covered(inputs: Inputs, state: Summary | None) -> range:
    """The places of a summary's messages; empty where they are not what they were."""
    if state is None or state.strategy != inputs.strategy:
        return range(0)
    places = inputs.places(state.first, state.last)
    fits = places.stop == state.message_count < len(inputs.messages)
    return places if fits else range(0)


def _task(inputs: Inputs, middle: range, covered: range, summary: str) -> SummaryTask | None:
    """None where a summary would save nothing."""
    before = range(middle.start, covered.start if covered else middle.start)
    after = range(covered.stop if covered else middle.start, middle.stop)
    if not inputs.worth_it(before, after):
        return None
    messages = inputs.messages
    return SummaryTask(
        first=messages[middle.start].number,
        last=messages[middle.stop - 1].number,
        transcript=transcript(
            messages[after.start : after.stop],
            summary,
            before=messages[before.start : before.stop],
            tokens=inputs.share(TRIGGER_PERCENT),
        ),
    )
