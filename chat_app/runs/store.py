"""Stores answers: complete, cancelled, failed, or partial ones of dead processes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.dispatch import receiver

from chat_app.conversations import append_message
from chat_app.models import Conversation, Message, MessageStatus, Sender
from traces_app.leases import run_died
from traces_app.models import Trace, TraceEvent


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer to store; `rounds` and `tool_calls` are a message's columns."""

    conversation_id: UUID
    client_id: str
    status: MessageStatus
    text: str
    thinking: str
    provider_id: str
    model_id: str
    branch: str = ""
    rounds: Sequence[Any] = ()
    tool_calls: Sequence[Any] = ()

    @property
    def is_empty(self) -> bool:
        """True if it has no text, no thinking and no tool calls."""
        return not (self.text or self.thinking or self.tool_calls)


def store_answer(answer: StoredAnswer, *, message_id: UUID | None = None) -> Message:
    """Add an answer to its conversation, in the transaction that ends the run."""
    columns = {} if message_id is None else {"id": message_id}
    return append_message(
        Conversation(pk=answer.conversation_id, client_id=answer.client_id),
        Sender.ASSISTANT,
        content=answer.text,
        thinking=answer.thinking,
        rounds=list(answer.rounds),
        tool_calls=list(answer.tool_calls),
        status=answer.status,
        provider_id=answer.provider_id,
        model_id=answer.model_id,
        branch=answer.branch,
        **columns,
    )


def tool_call_row(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """Return a message's entry for a tool call without a result yet; `arguments` as in its
    `tool_start`."""
    return {"id": call_id, "name": name, "arguments": arguments, "result": None, "is_error": False}


@receiver(run_died)
def store_interrupted(
    sender: type[Trace], *, trace: Trace, events: Sequence[TraceEvent], **_: Any
) -> None:
    """Store the partial answer in a dead run's events."""
    texts: dict[str, list[str]] = {"chunk": [], "thinking": []}
    calls: dict[str, dict[str, Any]] = {}
    for event in events:
        payload = event.payload
        match event.type:
            case "chunk" | "thinking":
                texts[event.type].append(payload["content"])
            case "tool_start":
                call_id = payload["tool_call_id"]
                calls[call_id] = tool_call_row(call_id, payload["tool_name"], payload["tool_args"])
            case "tool_output":
                calls[payload["tool_call_id"]] |= {
                    "result": payload["output"],
                    "is_error": payload["is_error"],
                }
    answer = StoredAnswer(
        conversation_id=trace.conversation_id,
        client_id=trace.conversation.client_id,
        status=MessageStatus.FAILED,
        text="".join(texts["chunk"]),
        thinking="".join(texts["thinking"]),
        provider_id=trace.provider_id,
        model_id=trace.model_id,
        branch=trace.branch,
        tool_calls=list(calls.values()),
    )
    if not answer.is_empty:
        trace.message_id = store_answer(answer).pk
        trace.save(update_fields=["message"])
