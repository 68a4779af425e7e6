"""Builders for chunks of OpenAI's streams."""

from typing import Any

DONE = "[DONE]"


def chunk(index: int = 0, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": delta, "finish_reason": finish}]}


def call(index: int | None = 0, call_id: str | None = None, **function: Any) -> dict[str, Any]:
    return chunk(tool_calls=[{"index": index, "id": call_id, "function": function}])


STOP = chunk(finish="stop")
CALLED = chunk(finish="tool_calls")
