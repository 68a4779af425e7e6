"""Builders for earlier messages of a conversation."""

from collections.abc import Sequence

from chat_app.prompt.context import ContextPlan, Summary, plan_context
from chat_app.prompt.messages import PromptMessage
from chat_app.values.events import ToolCall
from chat_app.values.model_call import (
    AssistantTurn,
    TextPart,
    Tool,
    ToolOutput,
    ToolResults,
    Turn,
    UserTurn,
)

# 120 tokens exceed 70 % of this limit; 100 leave room for a summary.
LIMIT = 170


def user(number: int, text: str = "") -> PromptMessage:
    return PromptMessage(number, (UserTurn(text or f"question {number}"),))


def answer(number: int, text: str = "") -> PromptMessage:
    return PromptMessage(number, (AssistantTurn((TextPart(text or f"answer {number}"),)),))


def answer_with_tool(number: int, result: str = "Sunny") -> PromptMessage:
    """Return an answer of two rounds: a tool call with its result, then a text."""
    call = ToolCall(f"call_{number}", "weather", '{"city":"Paris"}')
    return PromptMessage(
        number,
        (
            AssistantTurn((call,)),
            ToolResults((ToolOutput(call.id, call.name, result),)),
            AssistantTurn((TextPart(f"answer {number}"),)),
        ),
    )


def alternating_messages(count: int, *, first: int = 1, size: int = 40) -> list[PromptMessage]:
    """Return `count` alternating messages of `size` characters each."""
    return [
        (user if number % 2 else answer)(number, f"message {number} ".ljust(size, "x"))
        for number in range(first, first + count)
    ]


def plan(
    messages: Sequence[PromptMessage],
    *,
    limit: int = LIMIT,
    state: Summary | None = None,
    strategy: str = "sandwich",
    system_prompt: str = "",
    tools: Sequence[Tool] = (),
) -> ContextPlan:
    return plan_context(
        messages,
        system_prompt=system_prompt,
        tools=tools,
        limit=limit,
        strategy=strategy,
        state=state,
    )


def turn_labels(turns: Sequence[Turn]) -> list[str]:
    """Return a label for each turn: `message 1`, the text of a summary, or the class name."""
    labels = []
    for turn in turns:
        match turn:
            case UserTurn(text) | AssistantTurn((TextPart(text), *_)):
                labels.append(" ".join(text.split()[:2]) if text.startswith("message") else text)
            case _:
                labels.append(type(turn).__name__)
    return labels
