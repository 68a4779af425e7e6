"""Requests and scenarios in few words."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from scenarios_app.engine.canonical import CanonicalRequest, Json, Message, Role, Tool
from scenarios_app.engine.conditions.base import Condition, SubjectTextCondition
from scenarios_app.engine.conditions.match import ConditionResult, Match, Mismatch
from scenarios_app.engine.conditions.messages import MessageCondition
from scenarios_app.engine.conditions.request import (
    HeaderCondition,
    MetadataCondition,
    ModelCondition,
    PathCondition,
    ProviderCondition,
    StreamCondition,
)
from scenarios_app.engine.conditions.subjects import RequestReader, Subject, Which
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.conditions.tools import (
    OfferedToolCondition,
    ToolCallCondition,
    ToolResultCondition,
)
from scenarios_app.engine.parts import TextPart, ToolCallPart, ToolResultPart
from scenarios_app.engine.scenario import Scenario, Step

CHAT = "/v1/chat/completions"


def say(role: Role, *texts: str) -> Message:
    return Message(role, tuple(TextPart(text) for text in texts))


def called(name: str, arguments: str = "{}", call_id: str = "call_1") -> Message:
    return Message("assistant", (ToolCallPart(call_id, name, arguments),))


def result(
    content: str, name: str = "get_weather", call_id: str = "call_1", is_error: bool = False
) -> Message:
    return Message("tool", (ToolResultPart(call_id, name, content, is_error),))


def ask(*messages: Message | str, tools: Sequence[str] = (), **fields: Any) -> CanonicalRequest:
    """A chat request to OpenAI; strings are user messages."""
    defaults = {"provider": "openai", "path": CHAT, "route": CHAT, "model": "gpt-4o", **fields}
    request_messages = tuple(say("user", m) if isinstance(m, str) else m for m in messages)
    return CanonicalRequest(
        messages=request_messages, tools=tuple(Tool(name) for name in tools), **defaults
    )


def equals(text: str) -> TextCondition:
    return TextCondition(equals=text)


ANY_TEXT = TextCondition()
Texts: TypeAlias = Sequence[TextCondition]
NamedTexts: TypeAlias = Sequence[tuple[str, TextCondition]]


def message(
    text: TextCondition = ANY_TEXT, role: Role | None = None, which: Which = "last"
) -> MessageCondition:
    subject = Subject(MessageCondition.read_texts, role or "", which)
    return MessageCondition("", subject, (text,))


def tool_call(name: str | None = None, arguments: Json = None) -> ToolCallCondition:
    return ToolCallCondition("", name, arguments)


def tool_result(
    text: TextCondition = ANY_TEXT,
    tool_call_id: str | None = None,
    name: str | None = None,
    is_error: bool | None = None,
) -> ToolResultCondition:
    return ToolResultCondition("", text, tool_call_id, name, is_error)


def when(
    *,
    provider: Texts = (),
    path: Texts = (),
    model: Texts = (),
    stream: bool | None = None,
    messages: Sequence[MessageCondition] = (),
    tools: Sequence[str] = (),
    tool_calls: Sequence[ToolCallCondition] = (),
    tool_results: Sequence[ToolResultCondition] = (),
    headers: NamedTexts = (),
    metadata: NamedTexts = (),
) -> Match:
    """Conditions of every kind, also such as no document may hold."""
    return Match(
        (
            *_one_of(ProviderCondition, provider),
            *_one_of(PathCondition, path),
            *_one_of(ModelCondition, model),
            *StreamCondition.compile(stream, "match.stream"),
            *_numbered(messages),
            *OfferedToolCondition.compile(list(tools), "match.tools"),
            *_numbered(tool_calls),
            *_numbered(tool_results),
            *_named(HeaderCondition, [(name.lower(), text) for name, text in headers]),
            *_named(MetadataCondition, metadata),
        )
    )


def _one_of(kind: type[SubjectTextCondition], texts: Texts) -> Iterator[Condition]:
    if texts:
        yield kind(f"match.{kind.key}", Subject(kind.read_texts), tuple(texts))  # type: ignore[attr-defined]


def _numbered(conditions: Iterable[Condition]) -> Iterator[Condition]:
    for number, one in enumerate(conditions):
        yield replace(one, field=f"match.{one.key}[{number}]")


def _named(kind: type[SubjectTextCondition], texts: NamedTexts) -> Iterator[Condition]:
    for name, text in texts:
        subject = Subject(kind.read_texts, name)  # type: ignore[attr-defined]
        yield kind(f"match.{kind.key}.{name}", subject, (text,))


@dataclass(frozen=True, slots=True)
class MatchResult:
    """`distance` is the mean over all conditions, from 0 (matched) to 1 (nothing alike)."""

    matched: bool
    mismatches: tuple[Mismatch, ...]
    distance: float
    groups: dict[str, str]


def match_request(
    match: Match, request: CanonicalRequest, *, turn: int | None = None
) -> MatchResult:
    """What a step with this match, for this turn, makes of a request."""
    conditions, reader = match.with_turn(turn), RequestReader(request)
    mismatches = conditions.mismatches(reader)
    return MatchResult(
        matched=not mismatches,
        mismatches=mismatches,
        distance=conditions.distance(reader) if mismatches else 0.0,
        groups={} if mismatches else conditions.groups(reader),
    )


def explain_match(
    match: Match, request: CanonicalRequest, *, turn: int | None = None
) -> tuple[ConditionResult, ...]:
    return match.with_turn(turn).condition_results(RequestReader(request))


def on(role: Role | None = "user", which: Which = "last", **condition: Any) -> Match:
    """A match on one message."""
    return when(messages=(message(TextCondition(**condition), role, which),))


def call(name: str | None = None, arguments: Json = None) -> Match:
    """A match on an earlier tool call."""
    return when(tool_calls=(tool_call(name, arguments),))


def gave(text: TextCondition | None = None, **fields: Any) -> Match:
    """A match on a tool result."""
    return when(tool_results=(tool_result(text or ANY_TEXT, **fields),))


def saying(**condition: Any) -> Match:
    """A match on the last user message."""
    return on(**condition)


def step(match: Match | None = None, key: str = "k", **fields: Any) -> Step:
    return Step(**{"key": key, "label": key, "match": match or when(), **fields})


def scenario(name: str, *steps: Step, **fields: Any) -> Scenario:
    return Scenario(name=name, steps=steps, **fields)
