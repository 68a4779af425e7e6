"""Decodes recorded responses of Anthropic's messages."""

from collections.abc import Mapping
from typing import Any, Final

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.anthropic.answer import HOSTED_TOOLS, LOCATIONS, STOP_REASONS
from scenarios_app.wire.decoded import (
    DecodedChoice,
    DecodedResponse,
    ResponseDecoder,
    dict_items,
    get_nested,
    parse_json,
)

_FINISHES: Final[Mapping[str, str]] = {
    **{reason: finish for finish, reason in STOP_REASONS.items()},
    "model_context_window_exceeded": "length",
}
_PLACES: Final = {kind: (unit, *ends) for unit, (kind, *ends) in LOCATIONS.items()}


def decode_body(body: Any) -> DecodedResponse | None:
    """Decode a response that was not streamed; return None if it has no list of content."""
    if not isinstance(body.get("content"), list):
        return None
    content = DecodedChoice(finish=_FINISHES.get(str(body.get("stop_reason")), ""))
    sequence = body.get("stop_sequence")
    content.stop_sequence = sequence if isinstance(sequence, str) else None
    if body.get("stop_reason") not in (None, *_FINISHES):
        content.lost.add(f"stop reason {body['stop_reason']}")
    for block in dict_items(body["content"]):
        _add_block(content, block)
    return DecodedResponse((content,), _decode_usage(body))


def decode_stream(events: list[Any]) -> DecodedResponse | None:
    """Decode the events of a stream; return None if they contain no message."""
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        match event.get("type"):
            case "message_start":
                message = dict(get_nested(event, "message") or {})
            case "content_block_start":
                blocks[event.get("index") or 0] = dict(get_nested(event, "content_block") or {})
            case "content_block_delta":
                _merge_delta(
                    blocks.setdefault(event.get("index") or 0, {}), get_nested(event, "delta")
                )
            case "message_delta":
                message |= get_nested(event, "delta") or {}
                message["usage"] = {**(message.get("usage") or {}), **(event.get("usage") or {})}
    if not message:
        return None
    return decode_body({**message, "content": [block for _, block in sorted(blocks.items())]})


def _merge_delta(block: dict[str, Any], delta: Any) -> None:
    """Append a delta's text, signature, input or citation to `block`."""
    if not isinstance(delta, dict):
        return
    for key in ("text", "thinking", "signature"):
        if isinstance(delta.get(key), str):
            block[key] = f"{block.get(key) or ''}{delta[key]}"
    if isinstance(delta.get("partial_json"), str):
        before = block["input"] if isinstance(block.get("input"), str) else ""
        block["input"] = before + delta["partial_json"]
    if delta.get("citation"):
        block["citations"] = [*(block.get("citations") or []), delta["citation"]]


def _add_block(content: DecodedChoice, block: dict[str, Any]) -> None:
    """Append a block to `content`; add to its lost fields what a document cannot express."""
    match block.get("type"):
        case "text":
            citations = [_decode_citation(each) for each in dict_items(block.get("citations"))]
            content.add_text(block.get("text"), [each for each in citations if each])
            if not all(citations):
                content.lost.add("citations")
        case "thinking":
            content.add_reasoning(block.get("thinking"), signature=block.get("signature"))
        case "redacted_thinking":
            content.add_reasoning(None, redacted=block.get("data"))
        case "tool_use":
            content.add_call(block.get("name"), block.get("input"), id=block.get("id"))
        case "server_tool_use" | "mcp_tool_use":
            _add_tool_use(content, block)
        case str(kind) if kind.endswith("_tool_result") and _add_tool_result(content, block):
            pass
        case kind:
            content.lost.add(str(kind))


def _add_tool_use(content: DecodedChoice, block: dict[str, Any]) -> None:
    """Append the use of a hosted or MCP tool, without its result; if a document cannot express it,
    add the block's type to the lost fields."""
    name, server, tool_input = block.get("name"), block.get("server_name"), block.get("input")
    if isinstance(tool_input, str):
        tool_input = parse_json(tool_input or "{}")
    is_known = (server and name) or name in HOSTED_TOOLS
    if not is_known or not isinstance(tool_input, dict):
        content.lost.add(str(block["type"]))
    elif server:
        content.add_hosted("mcp", tool_input, server=server, name=name, id=block.get("id"))
    else:
        content.add_hosted(str(name), tool_input, id=block.get("id"))


def _add_tool_result(content: DecodedChoice, block: dict[str, Any]) -> bool:
    """Add a result to the use right before it; return False if a document cannot express it."""
    used = content.parts[-1].get("hosted_tool") if content.parts else None
    if not isinstance(used, dict) or used.get("id") != block.get("tool_use_id"):
        return False
    result, is_mcp = block.get("content"), block["type"] == "mcp_tool_result"
    if is_mcp and block.get("is_error"):
        return False
    if is_mcp or not str(get_nested(result, "type")).endswith("_error"):
        used["result"] = result
    elif isinstance(result, dict) and result.keys() == {"type", "error_code"}:
        used["error"] = result["error_code"]
    else:
        return False
    return True


def _decode_citation(citation: dict[str, Any]) -> dict[str, Json]:
    """Return a citation for a scenario document; empty if that cannot express all of it."""
    title, quote = citation.get("document_title"), citation.get("cited_text") or ""
    if citation.get("type") == "web_search_result_location":
        # The index is encrypted by the provider, and no document has it.
        if citation.get("encrypted_index") or not citation.get("url"):
            return {}
        named = {"title": citation["title"]} if citation.get("title") else {}
        return {"url": citation["url"], "quote": quote, **named}
    place = _PLACES.get(str(citation.get("type")))
    if place is None or not title:
        return {}
    unit, *ends = place
    first, last = (citation.get(end) for end in ends)
    if not (isinstance(first, int) and isinstance(last, int) and first < last):
        return {}
    index = {"document_index": citation["document_index"]} if citation.get("document_index") else {}
    return {"document": title, "quote": quote, **index, unit: [first, last]}


def _decode_usage(body: dict[str, Any]) -> dict[str, Any]:
    """Return the token counts as keys of a document's `usage`."""
    usage = body.get("usage")
    return {
        "input_tokens": get_nested(usage, "input_tokens"),
        "output_tokens": get_nested(usage, "output_tokens"),
        "cache_read_tokens": get_nested(usage, "cache_read_input_tokens") or None,
        "cache_write_tokens": get_nested(usage, "cache_creation_input_tokens") or None,
    }


DECODER = ResponseDecoder(decode_body, decode_stream)
