"""A scripted user's conversation with an agent: the next message, and the checkpoints so far.

Nothing here sends anything: a caller passes the user's messages to an agent and its answers back.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scenarios_app.engine.canonical import CanonicalRequest, Message
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.conditions.texts import quote
from scenarios_app.engine.document.user import AgentCheck, UserDocument, UserTurnDocument
from scenarios_app.engine.parts import TextPart, ToolCallPart

# The checkpoints by name, in words. The last three are in no script: they occur if they fail.
LABELS: Mapping[str, str] = {
    "say": "must say",
    "not_say": "must not say",
    "call": "must have called",
    "not_call": "must not have called",
    "answer": "answer",
    "next": "next turn",
    "max_turns": "number of turns",
}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A judged requirement on the agent, in words, and whether it holds. `name` is a key of
    LABELS."""

    name: str
    expected: str
    actual: str
    ok: bool

    @property
    def label(self) -> str:
        """The name in words, such as `must not say`."""
        return LABELS[self.name]


@dataclass(slots=True)
class SaidTurn:
    """A message of the user with the agent's answer, None before it arrives. `number` is the turn's
    in the script, from 1; `calls` are the agent's tool calls for this answer; `checkpoints` judge
    the agent at this turn."""

    number: int
    say: str
    answer: str | None = None
    calls: tuple[ToolCallPart, ...] = ()
    checkpoints: list[Checkpoint] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(checkpoint.ok for checkpoint in self.checkpoints)


class Simulation:
    """One conversation of a scripted user with an agent. The caller asks for `next_message` until
    it is None and after each one calls `add_answer`, or `fail` if the agent has none."""

    def __init__(self, script: UserDocument) -> None:
        self._script = script
        self._ended = False
        self.turns: list[SaidTurn] = []
        self.checkpoints: list[Checkpoint] = []

    @property
    def passed(self) -> bool:
        """True if all checkpoints hold, those of turns and those of the whole conversation."""
        return all(turn.passed for turn in self.turns) and all(
            checkpoint.ok for checkpoint in self.checkpoints
        )

    def next_message(self) -> str | None:
        """Add the user's next message to `turns` and return it. Without one, or after `max_turns`,
        end the conversation and return None."""
        if self._ended:
            return None
        number = self._next_turn()
        if number is None:
            self._end()
            return None
        if len(self.turns) >= self._script.max_turns:
            more = f"the user has more to say: {quote(self._script.turns[number - 1].say)}"
            limit = f"at most {self._script.max_turns}"
            self._end(Checkpoint("max_turns", limit, more, ok=False))
            return None
        self.turns.append(SaidTurn(number, self._script.turns[number - 1].say))
        return self.turns[-1].say

    def add_answer(self, text: str, calls: Sequence[ToolCallPart] = ()) -> None:
        """Add the agent's answer to the last message, with the tool calls that led to it, and judge
        it. The conversation ends if its turn has `end`."""
        latest = self.turns[-1]
        latest.answer, latest.calls = text, tuple(calls)
        turn = self._script.turns[latest.number - 1]
        latest.checkpoints += self._run_checks(
            check for checkpoint in turn.must for check in checkpoint.checks()
        )
        if turn.end:
            self._end()

    def fail(self, reason: str) -> None:
        """End the conversation with a failed checkpoint: the last message has no answer."""
        self.turns[-1].checkpoints.append(Checkpoint("answer", "an answer", reason, ok=False))
        self._ended = True

    def _next_turn(self) -> int | None:
        """Return the number, from 1, of the first turn of the script that is not said yet or may be
        repeated, and whose `when` holds; None without one."""
        sent_numbers = {turn.number for turn in self.turns}
        reader = self._reader()
        for number, turn in enumerate(self._script.turns, 1):
            is_free = turn.repeat or number not in sent_numbers
            if is_free and all(check.holds(reader) for check in turn.needed_checks):
                return number
        return None

    def _end(self, failure: Checkpoint | None = None) -> None:
        """End the conversation. Add the failed checkpoint, or that of `_unfinished`, if any, and
        judge the script's checkpoints of the whole conversation."""
        self._ended = True
        if failure := failure or self._unfinished():
            self.checkpoints.append(failure)
        checks = (check for checkpoint in self._script.must for check in checkpoint.checks("any"))
        self.checkpoints += self._run_checks(checks)

    def _unfinished(self) -> Checkpoint | None:
        """Return a failed checkpoint if the conversation stopped too early, else None. It has to
        stop at a turn with `end` or, if the script has none, after all turns but repeated ones."""
        turns, last = self._script.turns, self.turns[-1]
        sent_numbers = {turn.number for turn in self.turns}
        left = [n for n, turn in enumerate(turns, 1) if n not in sent_numbers and not turn.repeat]
        has_end = any(turn.end for turn in turns)
        if turns[last.number - 1].end or (not left and not has_end):
            return None
        wanted = " or ".join(_describe_turn(number, turns[number - 1]) for number in left)
        return Checkpoint("next", wanted or "a turn with end", quote(last.answer or ""), ok=False)

    def _run_checks(self, checks: Iterable[AgentCheck]) -> list[Checkpoint]:
        """Return a checkpoint for each check, judged on the conversation so far."""
        reader = self._reader()
        return [
            Checkpoint(
                check.name, check.expected, check.condition.actual(reader), check.holds(reader)
            )
            for check in checks
        ]

    def _reader(self) -> RequestReader:
        """Return a reader of the conversation so far, as one request with all its messages."""
        messages: list[Message] = []
        for turn in self.turns:
            messages.append(Message("user", (TextPart(turn.say),)))
            messages.append(Message("assistant", (TextPart(turn.answer or ""), *turn.calls)))
        return RequestReader(CanonicalRequest("", "", "", "", messages=tuple(messages)))


def _describe_turn(number: int, turn: UserTurnDocument) -> str:
    """Return a turn in words: its number, and the conditions of its `when`."""
    wanted = " and ".join(f"{check.name}: {check.expected}" for check in turn.needed_checks)
    return f"turn {number} after {wanted}"
