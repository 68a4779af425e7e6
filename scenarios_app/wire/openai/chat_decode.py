"""Decodes recorded chat completions of all dialects, legacy completions, and annotations."""

from typing import Any, Final

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.decoded import (
    DecodedChoice,
    DecodedResponse,
    ResponseDecoder,
    dict_items,
    get_nested,
)

_FINISHES: Final = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
# Fields of a message that documents lack.
_LOST_FIELDS: Final = ("audio", "images", "executed_tools", "function_call")
_PAGE_KEYS: Final = {"start_index": "start", "end_index": "end", "title": "title", "url": "url"}


def decode_body(body: Any) -> DecodedResponse | None:
    """Decode a response that was not streamed; return None if it has no choices."""
    choices = [_decode_choice(c, get_nested(c, "message")) for c in dict_items(body.get("choices"))]
    return DecodedResponse(tuple(choices), _decode_usage(body)) if choices else None


def decode_stream(events: list[Any]) -> DecodedResponse | None:
    """Decode the chunks of a stream; return None if they have no choices."""
    merged: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    for event in events:
        usage = _decode_usage(event) or _decode_usage(get_nested(event, "x_groq") or {}) or usage
        for choice in dict_items(event.get("choices")):
            into = merged.setdefault(choice.get("index") or 0, {"message": {}})
            into["finish_reason"] = choice.get("finish_reason") or into.get("finish_reason")
            if choice.get("logprobs"):
                into["logprobs"] = True
            delta = choice.get("delta")
            if isinstance(delta, dict):
                _merge_delta(into["message"], delta)
            elif isinstance(choice.get("text"), str):
                _merge_delta(into["message"], {"content": choice["text"]})
    choices = [_decode_choice(choice, choice["message"]) for _, choice in sorted(merged.items())]
    return DecodedResponse(tuple(choices), usage) if choices else None


def _decode_choice(choice: dict[str, Any], message: Any) -> DecodedChoice:
    """Return a choice; what a document cannot hold is noted as lost."""
    content = DecodedChoice(finish=_FINISHES.get(str(choice.get("finish_reason")), ""))
    if not isinstance(message, dict):
        message = {"content": choice.get("text")}
    if choice.get("logprobs"):
        content.lost.add("logprobs")
    content.lost.update(name for name in _LOST_FIELDS if message.get(name))
    content.add_reasoning(message.get("reasoning") or message.get("reasoning_content"))
    message_content = message.get("content")
    sources, is_exact = decode_annotations(message, message_content)
    if not is_exact:
        content.lost.add("annotations")
    if isinstance(message_content, str):
        content.add_text(message_content, sources)
    for part in dict_items(message_content):
        _add_part(content, part)
    for call in dict_items(message.get("tool_calls")):
        function, custom = call.get("function"), call.get("custom")
        if isinstance(custom, dict) and custom:
            content.add_call(
                custom.get("name"), custom.get("input"), id=call.get("id"), custom=True
            )
        elif isinstance(function, dict):
            content.add_call(function.get("name"), function.get("arguments"), id=call.get("id"))
        else:
            content.lost.add(str(call.get("type") or "tool call"))
    content.add_refusal(message.get("refusal"))
    return content


def _add_part(content: DecodedChoice, part: dict[str, Any]) -> None:
    """Add the text or thinking of a content part; note any other type as lost."""
    match part.get("type"):
        case "text" | "output_text":
            content.add_text(part.get("text"))
        case "thinking":
            for piece in dict_items(part.get("thinking")):
                content.append_reasoning_text(piece.get("text"))
        case kind:
            content.lost.add(str(kind))


def _merge_delta(message: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add a chunk's delta to a message: texts and lists are appended, calls by their index. A text
    and a list are joined as content parts. Other values replace earlier ones."""
    for name, value in delta.items():
        if name == "tool_calls":
            _merge_call_pieces(message.setdefault(name, []), value)
        elif isinstance(value, str | list) and name != "role":
            more: Any = value
            before = message.get(name) or more[:0]
            if type(before) is not type(more):
                before, more = _to_parts(before), _to_parts(more)
            message[name] = before + more
        elif value is not None:
            message[name] = value


def _to_parts(content: Any) -> list[Any]:
    """Return a content as a list of parts; a text is one part."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _merge_call_pieces(calls: list[dict[str, Any]], pieces: Any) -> None:
    """Append each piece to the call with its index, or as a new call if its index or id is new."""
    for piece in dict_items(pieces):
        # Some servers send an empty `custom` with each call of a function.
        kind, key = ("custom", "input") if piece.get("custom") else ("function", "arguments")
        # Some servers send null for a name or arguments that follow in a later piece.
        content = {k: v for k, v in (piece.get(kind) or {}).items() if v is not None}
        index, last = piece.get("index"), calls[-1] if calls else None
        same = next((call for call in reversed(calls) if call.get("index") == index), last)
        new = piece.get("id") and same is not None and piece["id"] != same.get("id")
        if same is None or new or (index is not None and same.get("index") != index):
            whole = {name: value for name, value in piece.items() if name != "custom"}
            calls.append({**whole, kind: {"name": "", key: "", **content}})
            continue
        into = same.setdefault(kind, {"name": "", key: ""})
        into["name"] += content.get("name", "")
        more = content.get(key)
        if isinstance(more, str) and isinstance(into[key], str):
            into[key] += more


def _decode_usage(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body's token counts as keys of a document's `usage`; empty if it has none."""
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return {}
    input_tokens, output_tokens = usage.get("prompt_tokens"), usage.get("completion_tokens")
    counted: dict[str, Any] = {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "reasoning_tokens": get_nested(usage, "completion_tokens_details", "reasoning_tokens")
        or None,
        "cached_tokens": get_nested(usage, "prompt_tokens_details", "cached_tokens") or None,
    }
    total = usage.get("total_tokens")
    if isinstance(input_tokens, int) and isinstance(output_tokens, int):
        counted["total_tokens"] = total if total != input_tokens + output_tokens else None
    return {name: count for name, count in counted.items() if count is not None}


def decode_annotations(content: dict[str, Any], text: Any) -> tuple[list[Json], bool]:
    """Return the citations of a message's text as documents have them, and whether all its
    annotations are among them."""
    annotations = content.get("annotations")
    length = len(text) if isinstance(text, str) else 0
    citations = [_decode_citation(annotation, length) for annotation in dict_items(annotations)]
    exact: list[Json] = [citation for citation in citations if citation]
    return exact, len(exact) == len(annotations or ())


def _decode_citation(annotation: dict[str, Any], length: int) -> dict[str, Json]:
    """Return a cited page or file; empty for anything else, and for a range outside the text."""
    kind = annotation.get("type")
    if kind == "file_citation" and annotation.get("filename") and annotation.get("file_id"):
        end = annotation.get("index")
        if not isinstance(end, int) or not 0 < end <= length:
            return {}
        named: dict[str, Json] = {"document": str(annotation["filename"])}
        return {**named, "file_id": str(annotation["file_id"]), "start": 0, "end": end}
    # Chat has the fields in an object of their own.
    fields = annotation.get("url_citation") or annotation
    if kind != "url_citation" or not fields.get("url") or set(fields) - {"type", *_PAGE_KEYS}:
        return {}
    citation = {into: fields[name] for name, into in _PAGE_KEYS.items() if fields.get(name)}
    start, end = fields.get("start_index"), fields.get("end_index")
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= length):
        return {}
    return {**citation, "start": start, "end": end}


DECODER = ResponseDecoder(decode_body, decode_stream)
