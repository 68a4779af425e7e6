"""Which of a conversation's messages a prompt holds, as turns: stored rounds as JSON and back, and
the request around them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Protocol

from chat_app.values.events import ToolCall
from chat_app.values.model_call import (
    AssistantPart,
    AssistantTurn,
    ModelRequest,
    Result,
    Text,
    Thinking,
    Tool,
    ToolResults,
    Turn,
    UserTurn,
)


def stored_parts(parts: Iterable[AssistantPart]) -> list[dict[str, Any]]:
    return [_stored_part(part) for part in parts]


def stored_round(parts: Iterable[AssistantPart], results: Iterable[Result]) -> dict[str, Any]:
    """One model call's parts, and what the tools that it called gave back."""
    return {
        "parts": stored_parts(parts),
        "results": [
            {
                "tool_call_id": result.tool_call_id,
                "name": result.name,
                "content": result.content,
                "is_error": result.is_error,
            }
            for result in results
        ],
    }


def turns_of_rounds(
    rounds: Sequence[Mapping[str, Any]], *, with_thinking: bool
) -> tuple[Turn, ...]:
    """The turns of an answer. A call without a result is left out: no provider takes one."""
    turns: list[Turn] = []
    for stored in rounds:
        results = {one["tool_call_id"]: _result(one) for one in stored.get("results", ())}
        parts = tuple(
            part
            for part in map(_part, stored["parts"])
            if not (isinstance(part, Thinking) and not with_thinking)
            and not (isinstance(part, ToolCall) and part.id not in results)
        )
        calls = [part.id for part in parts if isinstance(part, ToolCall)]
        if parts:
            turns.append(AssistantTurn(parts))
        if calls:
            turns.append(ToolResults(tuple(results[call] for call in calls)))
    return tuple(turns)


def _stored_part(part: AssistantPart) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"text": text}
        case Thinking(text, signature, redacted):
            return {"thinking": text, "signature": signature, "redacted": redacted}
        case ToolCall(call_id, name, arguments):
            return {"tool_call": {"id": call_id, "name": name, "arguments": arguments}}


def _part(stored: Mapping[str, Any]) -> AssistantPart:
    match stored:
        case {"tool_call": {"id": call_id, "name": name, "arguments": arguments}}:
            return ToolCall(call_id, name, arguments)
        case {"thinking": text}:
            return Thinking(text, stored.get("signature", ""), stored.get("redacted", ""))
        case _:
            return Text(stored["text"])


def _result(stored: Mapping[str, Any]) -> Result:
    return Result(
        stored["tool_call_id"], stored["name"], stored["content"], stored.get("is_error", False)
    )


THINKING_BUDGET: Final = 10_000


@dataclass(frozen=True, slots=True)
class PastMessage:
    """A stored message: what a prompt needs of it, by the names of its columns."""

    number: int
    sender: str
    content: str
    rounds: Sequence[Mapping[str, Any]] = ()
    status: str = "complete"
    provider_id: str = ""
    branch: str = ""


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A message that is part of the prompt. Its turns stay together: a tool call lies in the same
    message as its result."""

    number: int
    turns: tuple[Turn, ...]


class ProfileValues(Protocol):
    """What of a profile makes a request."""

    @property
    def model_id(self) -> str: ...
    @property
    def system_prompt(self) -> str: ...
    @property
    def temperature(self) -> float | None: ...
    @property
    def max_tokens(self) -> int | None: ...
    @property
    def enable_thinking(self) -> bool: ...
    @property
    def thinking_budget(self) -> int | None: ...


def prompt_messages(
    past: Iterable[PastMessage], provider_id: str, *, preferences: Mapping[int, str]
) -> tuple[PromptMessage, ...]:
    """What a model of this provider gets to see of messages that come in order.

    Of answers only complete ones, and one of each comparison: the preferred one, else (a tie, no
    vote, a failed branch) the complete one, `a` first. `preferences` are by the numbers of the
    users' messages. Thinking goes back to the provider that made it and to no other.
    """
    messages = (
        PromptMessage(message.number, _turns(message, provider_id))
        for message in _chosen(past, preferences)
    )
    return tuple(message for message in messages if message.turns)


def turns_of(messages: Iterable[PromptMessage]) -> tuple[Turn, ...]:
    return tuple(chain.from_iterable(message.turns for message in messages))


def build_request(
    profile: ProfileValues, turns: Sequence[Turn], *, tools: Sequence[Tool] = ()
) -> ModelRequest:
    """The request that a profile makes of these turns, a plan's `turns` for instance."""
    budget = THINKING_BUDGET if profile.thinking_budget is None else profile.thinking_budget
    return ModelRequest(
        model=profile.model_id,
        turns=tuple(turns),
        # Providers refuse one of white space alone.
        system_prompt=profile.system_prompt if profile.system_prompt.strip() else "",
        temperature=profile.temperature,
        max_tokens=profile.max_tokens,
        thinking_budget=budget if profile.enable_thinking else None,
        tools=tuple(tools),
    )


def _chosen(past: Iterable[PastMessage], preferences: Mapping[int, str]) -> Iterator[PastMessage]:
    """Every user's message, and after it its complete answers, but one of a comparison."""
    preference = ""
    branches: dict[str, PastMessage] = {}
    for message in past:
        if message.sender == "user":
            yield from _one_of(branches, preference)
            branches, preference = {}, preferences.get(message.number, "")
            yield message
        elif message.status != "complete":
            continue
        elif message.branch:
            branches[message.branch] = message
        else:
            yield message
    yield from _one_of(branches, preference)


def _one_of(branches: Mapping[str, PastMessage], preference: str) -> Iterator[PastMessage]:
    for branch in (preference, "a", "b"):
        if branch in branches:
            yield branches[branch]
            return


def _turns(message: PastMessage, provider_id: str) -> tuple[Turn, ...]:
    if message.sender == "user":
        return (UserTurn(message.content),)
    if message.rounds:
        return turns_of_rounds(message.rounds, with_thinking=message.provider_id == provider_id)
    return (AssistantTurn((Text(message.content),)),) if message.content else ()
