"""Selects the messages of a prompt, converts stored rounds to turns and back, builds requests."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from msgspec.structs import asdict

from chat_app.values import model_call as llm
from chat_app.values.events import ToolCall

THINKING_BUDGET: Final = 10_000


def to_stored_round(
    parts: Iterable[llm.AssistantPart], results: Iterable[llm.ToolOutput]
) -> dict[str, Any]:
    """Return the JSON of one model call's parts and of the results of its tools."""
    return {
        "parts": [to_stored_part(part) for part in parts],
        "results": [asdict(result) for result in results],
    }


def rounds_to_turns(
    rounds: Sequence[Mapping[str, Any]], *, with_thinking: bool
) -> tuple[llm.Turn, ...]:
    """Return the turns of stored rounds, but no calls that lack a result: providers refuse them."""
    turns: list[llm.Turn] = []
    for stored in rounds:
        results = {row["tool_call_id"]: _to_tool_output(row) for row in stored.get("results", ())}
        parts = tuple(
            part
            for part in map(_to_part, stored["parts"])
            if not (isinstance(part, llm.ThinkingPart) and not with_thinking)
            and not (isinstance(part, ToolCall) and part.id not in results)
        )
        calls = [part.id for part in parts if isinstance(part, ToolCall)]
        if parts:
            turns.append(llm.AssistantTurn(parts))
        if calls:
            turns.append(llm.ToolResults(tuple(results[call] for call in calls)))
    return tuple(turns)


def to_stored_part(part: llm.AssistantPart) -> dict[str, Any]:
    """Return the JSON of one part of an answer."""
    match part:
        case llm.TextPart(text):
            return {"text": text}
        case llm.ThinkingPart(text, signature, redacted):
            return {"thinking": text, "signature": signature, "redacted": redacted}
        case ToolCall(call_id, name, arguments):
            return {"tool_call": {"id": call_id, "name": name, "arguments": arguments}}


def _to_part(stored: Mapping[str, Any]) -> llm.AssistantPart:
    """Return a part from the JSON that `to_stored_part` returned."""
    match stored:
        case {"tool_call": {"id": call_id, "name": name, "arguments": arguments}}:
            return ToolCall(call_id, name, arguments)
        case {"thinking": text}:
            return llm.ThinkingPart(text, stored.get("signature", ""), stored.get("redacted", ""))
        case _:
            return llm.TextPart(stored["text"])


def _to_tool_output(stored: Mapping[str, Any]) -> llm.ToolOutput:
    return llm.ToolOutput(
        stored["tool_call_id"], stored["name"], stored["content"], stored.get("is_error", False)
    )


@dataclass(frozen=True, slots=True)
class PastMessage:
    """The columns of a stored message that a prompt needs."""

    number: int
    sender: str
    content: str
    rounds: Sequence[Mapping[str, Any]] = ()
    status: str = "complete"
    provider_id: str = ""
    branch: str = ""


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A message of the prompt, with all its turns, so that a tool call stays with its result."""

    number: int
    turns: tuple[llm.Turn, ...]


class ProfileValues(Protocol):
    """The fields of a profile that a request needs."""

    model_id: str
    system_prompt: str
    temperature: float | None
    max_tokens: int | None
    enable_thinking: bool
    thinking_budget: int | None


def prompt_messages(
    past: Iterable[PastMessage], provider_id: str, *, preferences: Mapping[int, str]
) -> tuple[PromptMessage, ...]:
    """Return the messages that a model of this provider gets; `past` is in order.

    Only complete answers are sent, and one of each comparison: the preferred one, else (tie, no
    vote, failed branch) the complete one, `a` first. `preferences` are by the numbers of the user's
    messages. Thinking is sent only to the provider that made it.
    """
    messages = (
        PromptMessage(message.number, _to_turns(message, provider_id))
        for message in _select_messages(past, preferences)
    )
    return tuple(message for message in messages if message.turns)


def turns_of(messages: Iterable[PromptMessage]) -> tuple[llm.Turn, ...]:
    """Return the turns of all messages in order."""
    return tuple(turn for message in messages for turn in message.turns)


def build_request(
    profile: ProfileValues, turns: Sequence[llm.Turn], *, tools: Sequence[llm.Tool] = ()
) -> llm.ModelRequest:
    """Return the request of a profile with these turns."""
    budget = THINKING_BUDGET if profile.thinking_budget is None else profile.thinking_budget
    return llm.ModelRequest(
        model=profile.model_id,
        turns=tuple(turns),
        # Providers refuse a blank one.
        system_prompt=profile.system_prompt if profile.system_prompt.strip() else "",
        temperature=profile.temperature,
        max_tokens=profile.max_tokens,
        thinking_budget=budget if profile.enable_thinking else None,
        tools=tuple(tools),
    )


def _select_messages(
    past: Iterable[PastMessage], preferences: Mapping[int, str]
) -> Iterator[PastMessage]:
    """Yield each user's message and its complete answers, only one of a comparison."""
    preference = ""
    branches: dict[str, PastMessage] = {}
    for message in past:
        if message.sender == "user":
            yield from _select_answer(branches, preference)
            branches, preference = {}, preferences.get(message.number, "")
            yield message
        elif message.status != "complete":
            continue
        elif message.branch:
            branches[message.branch] = message
        else:
            yield message
    yield from _select_answer(branches, preference)


def _select_answer(branches: Mapping[str, PastMessage], preference: str) -> Iterator[PastMessage]:
    """Yield the answer to go on with, if any: the preferred one, else a, else b."""
    for branch in (preference, "a", "b"):
        if branch in branches:
            yield branches[branch]
            return


def _to_turns(message: PastMessage, provider_id: str) -> tuple[llm.Turn, ...]:
    """Return the turns of a stored message, with thinking if this provider wrote it."""
    if message.sender == "user":
        return (llm.UserTurn(message.content),)
    if message.rounds:
        return rounds_to_turns(message.rounds, with_thinking=message.provider_id == provider_id)
    return (llm.AssistantTurn((llm.TextPart(message.content),)),) if message.content else ()
