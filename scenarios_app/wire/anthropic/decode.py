"""Decodes recorded responses of Anthropic's messages."""

from typing import Any, Final

from scenarios_app.wire.decoded import (
    DecodedChoice,
    DecodedResponse,
    ResponseDecoder,
    dict_items,
    get_nested,
)

_FINISHES: Final = {
    "end_turn": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "stop_sequence": "stop_sequence",
    "refusal": "content_filter",
    "model_context_window_exceeded": "length",
}
_PIECES: Final = (("text", "text"), ("thinking", "thinking"), ("signature", "signature"))


def decode_body(body: Any) -> DecodedResponse | None:
    """Decode a response that was not streamed."""
    if not isinstance(body.get("content"), list):
        return None
    content = DecodedChoice(finish=_FINISHES.get(str(body.get("stop_reason")), ""))
    sequence = body.get("stop_sequence")
    content.stop_sequence = sequence if isinstance(sequence, str) else None
    if body.get("stop_reason") not in (None, *_FINISHES):
        content.lost.add(f"stop reason {body['stop_reason']}")
    for block in dict_items(body["content"]):
        _block(content, block)
    return DecodedResponse((content,), _usage(body))


def decode_stream(events: list[Any]) -> DecodedResponse | None:
    """Decode the events of a stream."""
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        match event.get("type"):
            case "message_start":
                message = dict(get_nested(event, "message") or {})
            case "content_block_start":
                blocks[event.get("index") or 0] = dict(get_nested(event, "content_block") or {})
            case "content_block_delta":
                _merge(blocks.setdefault(event.get("index") or 0, {}), get_nested(event, "delta"))
            case "message_delta":
                message |= get_nested(event, "delta") or {}
                message["usage"] = {**(message.get("usage") or {}), **(event.get("usage") or {})}
    if not message:
        return None
    return decode_body({**message, "content": [block for _, block in sorted(blocks.items())]})


def _merge(block: dict[str, Any], delta: Any) -> None:
    if not isinstance(delta, dict):
        return
    for key, into in _PIECES:
        if isinstance(delta.get(key), str):
            block[into] = f"{block.get(into) or ''}{delta[key]}"
    if isinstance(delta.get("partial_json"), str):
        before = block["input"] if isinstance(block.get("input"), str) else ""
        block["input"] = before + delta["partial_json"]
    if delta.get("citation"):
        block["citations"] = [*(block.get("citations") or []), delta["citation"]]


def _block(content: DecodedChoice, block: dict[str, Any]) -> None:
    match block.get("type"):
        case "text":
            content.text(block.get("text"))
            if block.get("citations"):
                content.lost.add("citations")
        case "thinking":
            content.reasoning(block.get("thinking"), signature=block.get("signature"))
        case "redacted_thinking":
            content.reasoning(None, redacted=block.get("data"))
        case "tool_use":
            content.call(block.get("name"), block.get("input"), id=block.get("id"))
        case kind:
            content.lost.add(str(kind))


def _usage(body: dict[str, Any]) -> dict[str, Any]:
    usage = body.get("usage")
    return {
        "input_tokens": get_nested(usage, "input_tokens"),
        "output_tokens": get_nested(usage, "output_tokens"),
        "cache_read_tokens": get_nested(usage, "cache_read_input_tokens") or None,
        "cache_write_tokens": get_nested(usage, "cache_creation_input_tokens") or None,
    }


DECODER = ResponseDecoder(decode_body, decode_stream)
