"""Decodes recorded responses of OpenAI's Responses API."""

from typing import Any

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.decoded import (
    DecodedChoice,
    DecodedResponse,
    ResponseDecoder,
    dict_items,
    get_nested,
    parse_json,
)
from scenarios_app.wire.openai.chat_decode import decode_annotations

_ENDED = ("response.completed", "response.incomplete", "response.failed")


def decode_body(body: Any) -> DecodedResponse | None:
    """Decode a response that was not streamed; return None if it failed or has no output."""
    if not isinstance(body.get("output"), list) or body.get("status") == "failed":
        return None
    content = DecodedChoice()
    for item in dict_items(body["output"]):
        _add_item(content, item)
    if body.get("status") == "incomplete":
        reason = get_nested(body, "incomplete_details", "reason")
        content.finish = "content_filter" if reason == "content_filter" else "length"
    return DecodedResponse((content,), _decode_usage(body))


def decode_stream(events: list[Any]) -> DecodedResponse | None:
    """Decode a stream's last event; of a cut stream the finished items, or the text if no item has
    any. Return None if the response failed or has no output."""
    for event in events:
        if event.get("type") in _ENDED and isinstance(event.get("response"), dict):
            return decode_body(event["response"])
    items = [e["item"] for e in events if e.get("type") == "response.output_item.done"]
    deltas = [e.get("delta") for e in events if e.get("type") == "response.output_text.delta"]
    decoded = decode_body({"output": items})
    if decoded is not None and not any("text" in part for part in decoded.choices[0].parts):
        decoded.choices[0].add_text("".join(text for text in deltas if isinstance(text, str)))
    return decoded


def _add_item(content: DecodedChoice, item: dict[str, Any]) -> None:
    """Add an output item; what a document cannot hold is noted as lost."""
    match item.get("type"):
        case "message":
            for part in dict_items(item.get("content")):
                _add_part(content, part)
        case "function_call" | "custom_tool_call" as kind:
            custom = kind == "custom_tool_call"
            text = item.get("input" if custom else "arguments")
            call_id, namespace = item.get("call_id"), item.get("namespace")
            content.add_call(item.get("name"), text, id=call_id, custom=custom, namespace=namespace)
        case "reasoning":
            texts = [*dict_items(item.get("summary")), *dict_items(item.get("content"))]
            text = "\n\n".join(str(item.get("text") or "") for item in texts)
            if text:
                content.add_reasoning(text)
            if item.get("encrypted_content"):
                content.lost.add("encrypted_content")
        case kind:
            if not _add_hosted_item(content, item):
                content.lost.add(str(kind))


def _add_hosted_item(content: DecodedChoice, item: dict[str, Any]) -> bool:
    """Append the use of a hosted tool; return False if a document cannot express it."""
    action = item.get("action") or {}
    match item:
        case {"type": "web_search_call", "status": "completed"}:
            queries = action.get("queries")
            if set(action) - {"type", "query", "queries"} or not isinstance(queries, list):
                return False
            content.add_hosted("web_search", {"queries": queries})
        case {"type": "file_search_call", "status": "completed", "queries": list(queries)}:
            files = item.get("results") or []
            content.add_hosted("file_search", {"queries": queries}, result=files)
        case {"type": "code_interpreter_call", "status": "completed", "code": str(code)}:
            outputs = item.get("outputs")
            if any(output.get("type") != "logs" for output in dict_items(outputs)):
                return False
            logs = "".join(str(output.get("logs") or "") for output in dict_items(outputs))
            content.add_hosted("code_execution", {"code": code}, result=logs if outputs else None)
        case {"type": "image_generation_call", "status": "completed", "result": str(image)}:
            named = {"prompt": "revised_prompt", "size": "size", "quality": "quality"}
            fields = {into: item[key] for into, key in named.items() if item.get(key)}
            content.add_hosted("image_generation", fields, result=image)
        case {"type": "mcp_call", "error": None, "output": str(output), "arguments": str(text)}:
            arguments = parse_json(text)
            server, name = item.get("server_label"), item.get("name")
            if not (isinstance(arguments, dict) and server and name):
                return False
            content.add_hosted("mcp", arguments, server=server, name=name, result=output)
        case {"type": "mcp_list_tools", "tools": list(tools), "server_label": str(server)}:
            listed: Json = [{k: v for k, v in tool.items() if v is not None} for tool in tools]
            if item.get("error"):
                return False
            content.add_hosted("mcp_list_tools", {}, server=server, result=listed)
        case _:
            return False
    return True


def _add_part(content: DecodedChoice, part: dict[str, Any]) -> None:
    """Add a part of a message; annotations that do not fit are noted as lost."""
    match part.get("type"):
        case "output_text":
            sources, is_exact = decode_annotations(part, part.get("text"))
            content.add_text(part.get("text"), sources)
            if not is_exact:
                content.lost.add("annotations")
            if part.get("logprobs"):
                content.lost.add("logprobs")
        case "refusal":
            content.add_refusal(part.get("refusal"))
        case kind:
            content.lost.add(str(kind))


def _decode_usage(body: dict[str, Any]) -> dict[str, Any]:
    """Return the token counts by the keys of a document's `usage`; None for missing ones."""
    usage = body.get("usage")
    return {
        "input_tokens": get_nested(usage, "input_tokens"),
        "output_tokens": get_nested(usage, "output_tokens"),
        "reasoning_tokens": get_nested(usage, "output_tokens_details", "reasoning_tokens") or None,
        "cached_tokens": get_nested(usage, "input_tokens_details", "cached_tokens") or None,
    }


DECODER = ResponseDecoder(decode_body, decode_stream)
