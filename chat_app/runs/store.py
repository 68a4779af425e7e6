"""Stores answers: complete, cancelled, failed, or partial ones of dead processes."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.dispatch import receiver

from chat_app.conversations import append_message
from chat_app.models import MessageStatus, Sender
from traces_app.leases import run_died
from traces_app.models import Trace, TraceEvent


def is_empty(columns: Mapping[str, Any]) -> bool:
    """True if an answer has no text, no thinking and no tool calls."""
    return not (columns["content"] or columns["thinking"] or columns["tool_calls"])


def tool_call_row(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """Return the entry of a started tool call, without a result yet, for `Message.tool_calls`."""
    return {"id": call_id, "name": name, "arguments": arguments, "result": None, "is_error": False}


@receiver(run_died)
def store_partial_answer(
    sender: type[Trace], *, trace: Trace, events: Sequence[TraceEvent], **_: Any
) -> None:
    """Store the partial answer that a dead run's events contain; an empty one is not stored."""
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
    answer: dict[str, Any] = {
        "content": "".join(texts["chunk"]),
        "thinking": "".join(texts["thinking"]),
        "tool_calls": list(calls.values()),
        "status": MessageStatus.FAILED,
        "provider_id": trace.provider_id,
        "model_id": trace.model_id,
        "branch": trace.branch,
    }
    if not is_empty(answer):
        trace.message_id = append_message(trace.conversation, Sender.ASSISTANT, **answer).pk
        trace.save(update_fields=["message"])
