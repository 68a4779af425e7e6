"""The sandwich strategy: a long conversation is sent as both ends with a summary between them.

A prompt above 70 % of the model's limit is shortened. First, long results of tools lose their
middles. If that is not enough, a summary replaces the messages between the first five and the last
five. If ten messages are too long, the ends are shorter; the last resort is the user's message
alone. Messages are sent whole or not at all, so that a tool call stays with its result.

The summary is a user's turn: it was made from what users and tools said, so it must not get the
authority of the system prompt; providers accept consecutive user turns. It is stored with the
conversation and used again. Later messages are sent as they are until the prompt is above 70 %
again; then a new summary is made of the old one and of the messages that are in the middle now.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chat_app.prompt.length import (
    cut_middle,
    cut_results,
    estimate_tokens,
    even_length,
    prompt_texts,
)
from chat_app.prompt.messages import PromptMessage, turns_of
from chat_app.prompt.summaries import SummaryTask, build_transcript
from chat_app.values.model_call import Tool, ToolResults, Turn, UserTurn

# Each end has at most this many messages.
MAX_END_MESSAGES: Final = 5
TRIGGER_PERCENT: Final = 70
# The share of the limit that a summary may always use; shorter messages are not summarised.
SUMMARY_PERCENT: Final = 10
# The share of shortened ends with their summary, which leaves room for the next messages.
SHRUNK_PERCENT: Final = 50
# No result of an earlier answer is cut below this.
MIN_RESULT_CHARS: Final = 500
# A summary with less room than this is left out.
_MIN_SUMMARY_TOKENS: Final = 20
_CUT_MARK: Final = "[…]"


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """The inputs of a prompt, except the summary. Ranges are of positions in `messages`, from 0."""

    messages: tuple[PromptMessage, ...]
    system_prompt: str
    tools: tuple[Tool, ...]
    limit: int
    strategy: str

    def estimate_tokens(self, turns: Sequence[Turn]) -> int:
        """Return the estimated tokens of a prompt of these turns, with system prompt and tools."""
        return estimate_tokens(self._all_texts(turns))

    def _all_texts(self, turns: Sequence[Turn]) -> Iterator[str]:
        return prompt_texts(self.system_prompt, self.tools, turns)

    def tokens_of_limit(self, percent: int) -> int:
        """Return a percentage of the limit, in tokens."""
        return self.limit * percent // 100

    def is_too_long(self, turns: Sequence[Turn]) -> bool:
        """True if a prompt of these turns has, by estimate, more tokens than TRIGGER_PERCENT of the
        limit."""
        return self.estimate_tokens(turns) > self.tokens_of_limit(TRIGGER_PERCENT)

    def cut_results_to_fit(
        self,
        turns: Sequence[Turn],
        percent: int = TRIGGER_PERCENT,
        *,
        min_characters: int = MIN_RESULT_CHARS,
        among: slice = slice(None),
    ) -> tuple[Turn, ...]:
        """Return the turns with the longest results cut until the prompt has at most `percent` of
        the limit in tokens. No result is cut below `min_characters` or outside of `among`."""
        cut_turns = [turn for turn in turns[among] if isinstance(turn, ToolResults)]
        lengths = [len(result.content) for turn in cut_turns for result in turn.results]
        room, length = sum(lengths), max(lengths, default=0)
        shortened, tokens = tuple(turns), self.estimate_tokens(turns)
        while (excess := tokens - self.tokens_of_limit(percent)) > 0 and length > min_characters:
            # Marks have characters too, so one pass may not be enough.
            characters = sum(map(len, self._all_texts(shortened)))
            room -= max(-(-excess * characters // tokens), 1)
            length = max(even_length(lengths, room), min_characters)
            shortened = cut_results(turns, length, among=among)
            tokens = self.estimate_tokens(shortened)
        return shortened

    def range_of_numbers(self, first: int, last: int) -> range:
        """Return the range of the messages numbered `first` to `last`; empty if one is missing."""
        numbers = [message.number for message in self.messages]
        if first not in numbers or last not in numbers:
            return range(0)
        return range(numbers.index(first), numbers.index(last) + 1)

    def range_to_summarise(self, covered: range) -> range:
        """Return the range that a summary should replace, including the range `covered` so far."""
        head, tail = self._end_lengths()
        middle = range(head, len(self.messages) - tail)
        if not covered:
            return middle
        return range(min(middle.start, covered.start), max(middle.stop, covered.stop))

    def sandwich(self, middle: range, text: str) -> tuple[Turn, ...]:
        """Return the turns before and after `middle` with a user's turn of `text` between them;
        `text` is cut or left out if there is no room for it."""
        head = turns_of(self.messages[: middle.start])
        tail = turns_of(self.messages[middle.stop :])
        whole = (*head, UserTurn(text), *tail)
        tokens = self.estimate_tokens(cut_results(whole, MIN_RESULT_CHARS))
        ends = self.estimate_tokens(cut_results((*head, *tail), MIN_RESULT_CHARS))
        room = max(
            self.tokens_of_limit(TRIGGER_PERCENT) - ends,
            min(self.tokens_of_limit(SUMMARY_PERCENT), self.limit - ends),
        )
        if tokens - ends <= room:
            return whole
        if room < _MIN_SUMMARY_TOKENS:
            return (*head, *tail)
        return (*head, UserTurn(self._cut_to_tokens(text, room)), *tail)

    def is_worth_summary(self, *positions: range) -> bool:
        """True if these messages have more tokens than a summary may use."""
        turns = turns_of(self.messages[position] for group in positions for position in group)
        return estimate_tokens(prompt_texts("", (), turns)) > self.tokens_of_limit(SUMMARY_PERCENT)

    def _cut_to_tokens(self, text: str, tokens: int) -> str:
        """Return the text with its middle cut out until its estimate is at most `tokens`."""
        length, text_cut = len(text), text
        while (tokens_now := estimate_tokens([text_cut])) > tokens and length > len(_CUT_MARK):
            length = max(min(length * tokens // tokens_now, length - 1), len(_CUT_MARK))
            text_cut = cut_middle(text, length, _CUT_MARK)
        return text_cut

    def _end_lengths(self) -> tuple[int, int]:
        """Return the number of messages before and after the middle."""
        count = len(self.messages)
        longest = MAX_END_MESSAGES
        percent = TRIGGER_PERCENT - SUMMARY_PERCENT
        if count > 2 * longest and self._ends_fit(longest, longest, percent):
            return longest, longest
        ends, growing = [0, min(count, 1)], [0, 1]
        while growing:
            for side in tuple(growing):
                ends[side] += 1
                head, tail = ends
                if (
                    head + tail >= count
                    or ends[side] > MAX_END_MESSAGES
                    or not self._ends_fit(head, tail, SHRUNK_PERCENT - SUMMARY_PERCENT)
                ):
                    ends[side] -= 1
                    growing.remove(side)
        return ends[0], ends[1]

    def _ends_fit(self, head: int, tail: int, percent: int) -> bool:
        """True if the first `head` and last `tail` messages have at most `percent` of the limit."""
        ends = (*self.messages[:head], *self.messages[len(self.messages) - tail :])
        turns = cut_results(turns_of(ends), MIN_RESULT_CHARS)
        return self.estimate_tokens(turns) <= self.tokens_of_limit(percent)


SANDWICH: Final = "sandwich"
# Up to this share, results of tools called in this answer are sent whole.
ANSWER_PERCENT: Final = 90
_SUMMARY: Final = "[Summary of the messages that came here]\n"
_LEFT_OUT: Final = "[The messages that came here are left out]"


@dataclass(frozen=True, slots=True)
class Summary:
    """A stored summary, with the columns of ContextState: it replaces the messages numbered `first`
    to `last`, of which the last was the `message_count`-th."""

    strategy: str
    summary: str
    first: int
    last: int
    message_count: int


@dataclass(frozen=True, slots=True)
class ContextPlan:
    """The planned prompt. `turns` can be sent as they are. `task` is a summary to be made first, if
    any; without it, the prompt is too long or lacks messages. `state` is the summary to store; None
    deletes a stored one. `whole` are the turns with uncut results."""

    turns: tuple[Turn, ...]
    whole: tuple[Turn, ...] = field(repr=False)
    state: Summary | None
    task: SummaryTask | None
    inputs: PromptInputs = field(repr=False)

    def with_summary(self, text: str) -> "ContextPlan":
        """Return a new plan with the text of the summary; an empty text only drops the task."""
        if self.task is None or not text.strip():
            return replace(self, task=None)
        first, last = self.task.first, self.task.last
        count = self.inputs.range_of_numbers(first, last).stop
        state = Summary(self.inputs.strategy, text.strip(), first, last, count)
        return _build_plan(self.inputs, state)

    def turns_with(self, new_turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """Return the turns of the answer's next call, with its `new_turns` so far. Above 70 % of
        the limit, earlier results are cut; above 90 %, this answer's too, the latest last."""
        if not new_turns:
            return self.turns
        turns: tuple[Turn, ...] = (*self.whole, *new_turns)
        inputs, before = self.inputs, len(self.whole)
        if inputs.strategy != SANDWICH:
            return turns
        turns = inputs.cut_results_to_fit(turns, among=slice(before))
        results = (place for place, turn in enumerate(turns) if isinstance(turn, ToolResults))
        latest = max([before, *results])
        for among in (slice(before, latest), slice(latest, None)):
            turns = inputs.cut_results_to_fit(turns, ANSWER_PERCENT, min_characters=0, among=among)
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
    """Plan the prompt for a model with a limit of `limit` tokens. Strategies other than `sandwich`
    send all messages. A prompt that is still too long is sent, and the provider decides."""
    return _build_plan(
        PromptInputs(tuple(messages), system_prompt, tuple(tools), limit, strategy), state
    )


def _build_plan(inputs: PromptInputs, state: Summary | None) -> ContextPlan:
    """Plan the prompt; `state` is the stored summary, which is dropped if it does not fit."""
    whole = turns_of(inputs.messages)
    if inputs.strategy != SANDWICH:
        return ContextPlan(whole, whole, None, None, inputs)
    covered = _stored_summary_range(inputs, state)
    if not covered:
        state = None
    turns = inputs.cut_results_to_fit(whole)
    if state and inputs.is_too_long(turns):
        whole = inputs.sandwich(covered, _SUMMARY + state.summary)
        turns = inputs.cut_results_to_fit(whole)
    task = None
    if inputs.is_too_long(turns) and (middle := inputs.range_to_summarise(covered)) != covered:
        task = _summary_task(inputs, middle, covered, state.summary if state else "")
        if inputs.estimate_tokens(turns) > inputs.limit:
            parts = [_SUMMARY + state.summary] if state else []
            whole = inputs.sandwich(middle, "\n\n".join((*parts, _LEFT_OUT)))
            turns = inputs.cut_results_to_fit(whole)
    return ContextPlan(turns, whole, state, task, inputs)


def _stored_summary_range(inputs: PromptInputs, state: Summary | None) -> range:
    """Return the range that a stored summary replaces; empty if it does not fit the messages."""
    if state is None or state.strategy != inputs.strategy:
        return range(0)
    positions = inputs.range_of_numbers(state.first, state.last)
    is_valid = positions.stop == state.message_count < len(inputs.messages)
    return positions if is_valid else range(0)


def _summary_task(
    inputs: PromptInputs, middle: range, covered: range, summary: str
) -> SummaryTask | None:
    """Return the summary to be made, or None if it would save nothing."""
    before = range(middle.start, covered.start if covered else middle.start)
    after = range(covered.stop if covered else middle.start, middle.stop)
    if not inputs.is_worth_summary(before, after):
        return None
    messages = inputs.messages
    return SummaryTask(
        first=messages[middle.start].number,
        last=messages[middle.stop - 1].number,
        transcript=build_transcript(
            messages[after.start : after.stop],
            summary,
            before=messages[before.start : before.stop],
            tokens=inputs.tokens_of_limit(TRIGGER_PERCENT),
        ),
    )
