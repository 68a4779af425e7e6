"""Gives an answer's tool calls the ids that its script leaves open, from the request's seed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from scenarios_app.engine.canonical import Choice
from scenarios_app.engine.parts import (
    AnswerPart,
    ServerToolResultPart,
    ServerToolUsePart,
    ToolCallPart,
)
from scenarios_app.engine.seed import Seed

# Anthropic has most of such tools, so its prefix stands for every wire.
SERVER_TOOL_PREFIX = "srvtoolu_"


def identified(
    choices: Iterable[Choice], seed: Seed, *, tool_call_prefix: str
) -> tuple[Choice, ...]:
    """The choices with an id on every call. A result without one belongs to the last use of its
    tool."""
    ids = _Ids((seed.tool_call_id(number) for number in count(1)), tool_call_prefix)
    return tuple(ids.choice(choice) for choice in choices)


@dataclass(slots=True)
class _Ids:
    """What is given so far, in the order of the answer."""

    fresh: Iterator[str]
    prefix: str
    used: dict[str, str] = field(default_factory=dict)

    def choice(self, choice: Choice) -> Choice:
        parts = tuple(map(self.part, choice.parts))
        return choice if parts == choice.parts else replace(choice, parts=parts)

    def part(self, part: AnswerPart) -> AnswerPart:
        match part:
            case ToolCallPart(id=""):
                return replace(part, id=self.prefix + next(self.fresh))
            case ServerToolUsePart():
                called = self.used[part.name] = part.id or self.server_id()
                return replace(part, id=called)
            case ServerToolResultPart(tool_use_id=""):
                return replace(part, tool_use_id=self.used.get(part.name) or self.server_id())
            case _:
                return part

    def server_id(self) -> str:
        return SERVER_TOOL_PREFIX + next(self.fresh)
