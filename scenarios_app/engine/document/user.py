"""Pydantic models of a scripted user: what it says, when, and what the agent must answer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import Field

from scenarios_app.engine.conditions.messages import MessageCondition
from scenarios_app.engine.conditions.subjects import RequestReader, Subject, Which
from scenarios_app.engine.conditions.text_shapes import TextConditionDocument, TextShape
from scenarios_app.engine.conditions.tools import ToolCallCondition, ToolCallConditionDocument
from scenarios_app.engine.shapes import Document, KeyProblem, fields


@dataclass(frozen=True, slots=True)
class AgentCheck:
    """A condition on the agent's answers and tool calls; if `negated`, it must not hold."""

    condition: MessageCondition | ToolCallCondition
    negated: bool = False

    @property
    def name(self) -> str:
        """The key in an AgentDocument: `say`, `not_say`, `call` or `not_call`."""
        return f"not_{self.condition.field}" if self.negated else self.condition.field

    @property
    def expected(self) -> str:
        """The condition in words, without the negation."""
        match self.condition:
            case MessageCondition(alternatives=(text,)):
                return text.describe()
            case condition:
                return condition.expected

    def holds(self, reader: RequestReader) -> bool:
        return self.condition.holds(reader) != self.negated


class AgentDocument(Document):
    """A condition on the agent. Everything given must hold."""

    say: TextShape | None = None
    """The agent says this: in its last answer, or in any answer if it belongs to the whole
    conversation."""
    not_say: TextShape | None = None
    """The agent does not say this, in the same answers."""
    call: ToolCallConditionDocument | None = None
    """The agent has called such a tool in the conversation so far."""
    not_call: ToolCallConditionDocument | None = None
    """The agent has not called such a tool in the conversation so far."""

    def find_key_problems(self) -> Iterable[KeyProblem]:
        if all(test is None for test in (self.say, self.not_say, self.call, self.not_call)):
            yield (), "expected at least one of say, not_say, call, not_call"

    @property
    def needs_calls(self) -> bool:
        """True if it can be judged only by someone who sees the agent's tool calls."""
        return self.call is not None or self.not_call is not None

    def checks(self, which: Which = "last") -> Iterator[AgentCheck]:
        """Yield the conditions; `which` are the answers that texts are looked for in."""
        for text, negated in ((self.say, False), (self.not_say, True)):
            if text is not None:
                yield AgentCheck(_to_say_condition(text, which), negated)
        for call, negated in ((self.call, False), (self.not_call, True)):
            if call is not None:
                yield AgentCheck(call.compile("call"), negated)


def _to_say_condition(text: TextConditionDocument, which: Which) -> MessageCondition:
    """Return the condition on the text of one or more of the agent's messages."""
    subject = Subject(MessageCondition.read_texts, "assistant", which)
    return MessageCondition("say", subject, (text.compile(),))


class UserTurnDocument(Document):
    """One message of the user."""

    say: fields.SomeText
    """The text of the user's message."""
    when: AgentDocument | None = None
    """Say it only after such an answer. Without it the turn always fits."""
    must: list[AgentDocument] = Field(default_factory=list)
    """Checkpoints of the agent's answer to it."""
    end: fields.Flag = False
    """Whether the conversation ends with the answer to it."""
    repeat: fields.Flag = False
    """Whether the user may say it again; other turns come once."""

    def find_key_problems(self) -> Iterable[KeyProblem]:
        if self.repeat and self.when is None:
            yield ("repeat",), "needs when: the user would say it again and again"

    @property
    def needed_checks(self) -> tuple[AgentCheck, ...]:
        """The conditions that must hold before the user says it."""
        return tuple(self.when.checks()) if self.when else ()


class UserDocument(Document):
    """A scripted user, for `mockllm simulate`."""

    turns: list[UserTurnDocument] = Field(min_length=1)
    """The messages. After each answer the user says the first one that fits and was not used yet.
    The conversation ends when none fits."""
    must: list[AgentDocument] = Field(default_factory=list)
    """Checkpoints of the whole conversation."""
    max_turns: fields.Positive = 20
    """The conversation fails if the user has more to say after this many messages."""

    def find_key_problems(self) -> Iterable[KeyProblem]:
        if all(turn.when is not None for turn in self.turns):
            yield ("turns",), "none can begin the conversation: one must be without when"

    @property
    def needs_calls(self) -> bool:
        """True if a condition can be judged only by someone who sees the agent's tool calls."""
        of_turns = (agent for turn in self.turns for agent in (turn.when, *turn.must))
        return any(agent is not None and agent.needs_calls for agent in (*self.must, *of_turns))
