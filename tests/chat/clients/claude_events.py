"""Builders for events of Anthropic's streams."""

from typing import Any

USAGE = {
    "input_tokens": 5,
    "cache_creation_input_tokens": 20,
    "cache_read_input_tokens": 300,
    "output_tokens": 1,
}
START = {"type": "message_start", "message": {"id": "m", "role": "assistant", "usage": USAGE}}
END = {"type": "message_stop"}


def block(index: int, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index: int, **piece: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": piece}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def text(index: int, content: str) -> list[dict[str, Any]]:
    block_start = block(index, type="text", text="")
    return [block_start, delta(index, type="text_delta", text=content), stop(index)]


def message_end(reason: str | None = "end_turn", tokens: int = 9) -> list[dict[str, Any]]:
    usage = {"output_tokens": tokens}
    return [{"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}, END]
