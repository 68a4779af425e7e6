"""Both ends of a conversation, what lies between, and how much of a model's limit each gets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chat_app.prompt.messages import PromptMessage, turns_of
from chat_app.prompt.shorten import shorten_results, with_results_cut, without_middle
from chat_app.prompt.tokens import estimate, texts_of
from chat_app.values.request import Tool, Turn, UserTurn

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
