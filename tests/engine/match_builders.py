"""Build requests, conditions, matches and scenarios for tests of the engine."""

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


def text_message(role: Role, *texts: str) -> Message:
    return Message(role, tuple(TextPart(text) for text in texts))


def tool_call_message(name: str, arguments: str = "{}", call_id: str = "call_1") -> Message:
    return Message("assistant", (ToolCallPart(call_id, name, arguments),))


def tool_result_message(
    content: str, name: str = "get_weather", call_id: str = "call_1", is_error: bool = False
) -> Message:
    return Message("tool", (ToolResultPart(call_id, name, content, is_error),))


def chat_request(
    *messages: Message | str, tools: Sequence[str] = (), **fields: Any
) -> CanonicalRequest:
    """Return a chat request to OpenAI; strings become user messages."""
    defaults = {"provider": "openai", "path": CHAT, "route": CHAT, "model": "gpt-4o", **fields}
    request_messages = tuple(text_message("user", m) if isinstance(m, str) else m for m in messages)
    return CanonicalRequest(
        messages=request_messages, tools=tuple(Tool(name) for name in tools), **defaults
    )


def equals(text: str) -> TextCondition:
    return TextCondition(equals=text)


ANY_TEXT = TextCondition()
Texts: TypeAlias = Sequence[TextCondition]
NamedTexts: TypeAlias = Sequence[tuple[str, TextCondition]]


def message_condition(
    text: TextCondition = ANY_TEXT, role: Role | None = None, which: Which = "last"
) -> MessageCondition:
    subject = Subject(MessageCondition.read_texts, role or "", which)
    return MessageCondition("", subject, (text,))


def tool_call_condition(name: str | None = None, arguments: Json = None) -> ToolCallCondition:
    return ToolCallCondition("", name, arguments)


def tool_result_condition(
    text: TextCondition = ANY_TEXT,
    tool_call_id: str | None = None,
    name: str | None = None,
    is_error: bool | None = None,
) -> ToolResultCondition:
    return ToolResultCondition("", text, tool_call_id, name, is_error)


def build_match(
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
    """Return a match with conditions of any kind, including those that no document can hold."""
    return Match(
        (
            *_alternatives(ProviderCondition, provider),
            *_alternatives(PathCondition, path),
            *_alternatives(ModelCondition, model),
            *StreamCondition.compile(stream, "match.stream"),
            *_numbered_conditions(messages),
            *OfferedToolCondition.compile(list(tools), "match.tools"),
            *_numbered_conditions(tool_calls),
            *_numbered_conditions(tool_results),
            *_named_conditions(HeaderCondition, [(name.lower(), text) for name, text in headers]),
            *_named_conditions(MetadataCondition, metadata),
        )
    )


def _alternatives(kind: type[SubjectTextCondition], texts: Texts) -> Iterator[Condition]:
    if texts:
        yield kind(f"match.{kind.key}", Subject(kind.read_texts), tuple(texts))


def _numbered_conditions(conditions: Iterable[Condition]) -> Iterator[Condition]:
    for number, condition in enumerate(conditions):
        yield replace(condition, field=f"match.{condition.key}[{number}]")


def _named_conditions(kind: type[SubjectTextCondition], texts: NamedTexts) -> Iterator[Condition]:
    for name, text in texts:
        subject = Subject(kind.read_texts, name)
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
    """Return the result of one step's match, with its turn condition, for a request."""
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


def message_match(role: Role | None = "user", which: Which = "last", **condition: Any) -> Match:
    """Return a match with a condition on one message."""
    return build_match(messages=(message_condition(TextCondition(**condition), role, which),))


def tool_call_match(name: str | None = None, arguments: Json = None) -> Match:
    """Return a match with a condition on an earlier tool call."""
    return build_match(tool_calls=(tool_call_condition(name, arguments),))


def tool_result_match(text: TextCondition | None = None, **fields: Any) -> Match:
    """Return a match with a condition on a tool result."""
    return build_match(tool_results=(tool_result_condition(text or ANY_TEXT, **fields),))


def user_text_match(**condition: Any) -> Match:
    """Return a match with a condition on the last user message."""
    return message_match(**condition)


def step(match: Match | None = None, key: str = "k", **fields: Any) -> Step:
    return Step(**{"key": key, "label": key, "match": match or build_match(), **fields})


def scenario(name: str, *steps: Step, **fields: Any) -> Scenario:
    return Scenario(name=name, steps=steps, **fields)
