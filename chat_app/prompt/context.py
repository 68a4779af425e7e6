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

from chat_app.prompt.length import (
    estimate,
    shorten_results,
    texts_of,
    with_results_cut,
    without_middle,
)
from chat_app.prompt.messages import PromptMessage, turns_of
from chat_app.prompt.summaries import SummaryTask, transcript
from chat_app.values.model_call import Tool, ToolResults, Turn, UserTurn

# How many messages each end has at the most.
END: Final = 5
TRIGGER_PERCENT: Final = 70
# What a summary may have of the limit, at least. What has no more is not worth one.
SUMMARY_PERCENT: Final = 10
# What ends that had to be shortened have with their summary: the next messages find room.
SHRUNK_PERCENT: Final = 50
# In characters: no result of an earlier answer is cut below it.
LEAST_RESULT: Final = 500
# A summary that would have fewer tokens is left out.
_LEAST_SUMMARY: Final = 20
_CUT: Final = "[…]"


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that decides about a prompt, but the summary. Messages are known by their places, from 0,
    and those of the middle by a range of them."""

    messages: tuple[PromptMessage, ...]
    system_prompt: str
    tools: tuple[Tool, ...]
    limit: int
    strategy: str

    def tokens(self, turns: Sequence[Turn]) -> int:
        return estimate(texts_of(self.system_prompt, self.tools, turns))

    def characters(self, turns: Sequence[Turn]) -> int:
        return sum(map(len, texts_of(self.system_prompt, self.tools, turns)))

    def share(self, percent: int) -> int:
        return self.limit * percent // 100

    def too_long(self, turns: Sequence[Turn]) -> bool:
        return self.tokens(turns) > self.share(TRIGGER_PERCENT)

    def shortened(self, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        most = self.share(TRIGGER_PERCENT)
        return shorten_results(turns, self, most=most, least=LEAST_RESULT)

    def places(self, first: int, last: int) -> range:
        """Where the messages of these numbers are, and those between; empty if one is missing."""
        numbers = [message.number for message in self.messages]
        if first not in numbers or last not in numbers:
            return range(0)
        return range(numbers.index(first), numbers.index(last) + 1)

    def middle(self, covered: range) -> range:
        """The places of the messages that a summary should stand for; those that one stands for
        already are among them."""
        head, tail = self._ends()
        found = range(head, len(self.messages) - tail)
        if not covered:
            return found
        return range(min(found.start, covered.start), max(found.stop, covered.stop))

    def sandwich(self, middle: range, text: str) -> tuple[Turn, ...]:
        """Both ends, and between them a user's turn of that text: cut, or left out, where the ends
        leave no room for it."""
        head = turns_of(self.messages[: middle.start])
        tail = turns_of(self.messages[middle.stop :])
        whole = (*head, UserTurn(text), *tail)
        least = self.tokens(with_results_cut(whole, LEAST_RESULT))
        ends = self.tokens(with_results_cut((*head, *tail), LEAST_RESULT))
        room = max(
            self.share(TRIGGER_PERCENT) - ends,
            min(self.share(SUMMARY_PERCENT), self.limit - ends),
        )
        if least - ends <= room:
            return whole
        if room < _LEAST_SUMMARY:
            return (*head, *tail)
        return (*head, UserTurn(self._cut(text, room)), *tail)

    def worth_it(self, *places: range) -> bool:
        """Whether a summary can have fewer tokens than these messages."""
        turns = turns_of(self.messages[place] for one in places for place in one)
        return estimate(texts_of("", (), turns)) > self.share(SUMMARY_PERCENT)

    def _cut(self, text: str, tokens: int) -> str:
        length, found = len(text), text
        while (counted := estimate([found])) > tokens and length > len(_CUT):
            length = max(min(length * tokens // counted, length - 1), len(_CUT))
            found = without_middle(text, length, _CUT)
        return found

    def _ends(self) -> tuple[int, int]:
        """How many messages there are before and behind the middle."""
        count = len(self.messages)
        if count > 2 * END and self._fit(END, END, TRIGGER_PERCENT - SUMMARY_PERCENT):
            return END, END
        ends, growing = [0, min(count, 1)], [0, 1]
        while growing:
            for side in tuple(growing):
                ends[side] += 1
                head, tail = ends
                if (
                    head + tail >= count
                    or ends[side] > END
                    or not self._fit(head, tail, SHRUNK_PERCENT - SUMMARY_PERCENT)
                ):
                    ends[side] -= 1
                    growing.remove(side)
        return ends[0], ends[1]

    def _fit(self, head: int, tail: int, percent: int) -> bool:
        ends = (*self.messages[:head], *self.messages[len(self.messages) - tail :])
        turns = with_results_cut(turns_of(ends), LEAST_RESULT)
        return self.tokens(turns) <= self.share(percent)


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
