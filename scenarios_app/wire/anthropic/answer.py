"""The message object of Anthropic's responses and its content blocks, whole and streamed."""

import json
from collections.abc import Mapping
from typing import Any

from scenarios_app.engine.canonical import CanonicalResponse, Json
from scenarios_app.engine.parts import (
    LIST_MCP_TOOLS,
    AnswerPart,
    Citation,
    FinishReason,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    SourceUnit,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.anthropic.options import AnthropicOptions
from scenarios_app.wire.anthropic.usage import opening_usage, whole_usage
from scenarios_app.wire.base import format_time, object_json

STOP_REASONS: Mapping[FinishReason, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "stop_sequence": "stop_sequence",
    "content_filter": "refusal",
}
_CONTAINER_SECONDS = 2_592_000
_DIRECT = {"type": "direct"}
_STOP_FIELDS = ("stop_reason", "stop_sequence", "stop_details")

# These tools run in a container.
CODE_TOOLS = frozenset({"code_execution", "bash_code_execution", "text_editor_code_execution"})
_COMMAND_TOOLS = frozenset({"code_execution", "bash_code_execution"})
_COMMAND_OUTPUT: Mapping[str, Json] = {"stdout": "", "stderr": "", "return_code": 0, "content": []}
HOSTED_TOOLS = CODE_TOOLS | {
    "web_search",
    "web_fetch",
    "tool_search_tool_regex",
    "tool_search_tool_bm25",
}
# Tools of documents that Anthropic lacks. Any other name may be in an instruction block.
_UNKNOWN_TOOLS = frozenset({"file_search", "image_generation", "google_maps"})
_TOOL_SEARCH = "tool_search"
# Result types are named after their tool, except this one.
_RESULT_TYPES = {_TOOL_SEARCH: "tool_search_tool_search_result"}
# The types of places in documents, with their fields.
LOCATIONS: Mapping[SourceUnit, tuple[str, str, str]] = {
    "chars": ("char_location", "start_char_index", "end_char_index"),
    "pages": ("page_location", "start_page_number", "end_page_number"),
    "blocks": ("content_block_location", "start_block_index", "end_block_index"),
}


def render_message(response: CanonicalResponse, options: AnthropicOptions) -> dict[str, Any]:
    """Return the whole message. Scripted metadata adds fields; of those that every message has, it
    replaces only the stop fields."""
    parts = (part for choice in response.choices for part in choice.parts)
    content = [_complete_block(part) for part in parts if has_block(part)]
    usage = whole_usage(response, options)
    message = _message_body(response, content, stop=stop_fields(response), usage=usage)
    return {
        **message,
        **container_fields(response, options),
        **context_edits(response, options),
        **_scripted_fields(response, message),
    }


def opening_message(response: CanonicalResponse, options: AnthropicOptions) -> dict[str, Any]:
    """Return the message at the start of a stream: no content, no stop reason, one output token."""
    stop, usage = dict.fromkeys(_STOP_FIELDS), opening_usage(response, options)
    message = _message_body(response, [], stop=stop, usage=usage)
    return message | _scripted_fields(response, message)


def _message_body(
    response: CanonicalResponse, content: list[Any], *, stop: Mapping[str, Json], usage: Any
) -> dict[str, Any]:
    """Return a message with this content, these stop fields and this usage."""
    return {
        "id": f"msg_{response.id}",
        "type": "message",
        "role": "assistant",
        "model": response.model,
        "content": content,
        **stop,
        "usage": usage,
    }


def container_fields(response: CanonicalResponse, options: AnthropicOptions) -> dict[str, Json]:
    """Return the field `container` of a response with code execution, which a stream sends at its
    end; empty if no code ran or a script sets the field."""
    parts = (part for choice in response.choices for part in choice.parts)
    ran = (isinstance(part, ServerToolUsePart) and part.name in CODE_TOOLS for part in parts)
    if "container" in response.metadata or not any(ran):
        return {}
    name = options.container or f"container_{response.id[:24]}"
    expiry = format_time(response.created + _CONTAINER_SECONDS)
    return {"container": {"id": name, "expires_at": expiry}}


def context_edits(response: CanonicalResponse, options: AnthropicOptions) -> dict[str, Json]:
    """Return the field with an empty list of context edits; empty if the request allows no edits or
    a script sets the field."""
    managed = options.managed and "context_management" not in response.metadata
    return {"context_management": {"applied_edits": []}} if managed else {}


def stop_fields(response: CanonicalResponse) -> dict[str, Json]:
    """Return the stop reason and its details. A message has one reason: the last choice's; if that
    ended normally, tool use of an earlier choice, or a refusal in any. Scripted stop fields have
    precedence."""
    last = response.choices[-1]
    if last.finish_reason == "stop":
        last = next((c for c in response.choices if c.finish_reason == "tool_calls"), last)
    refusals = [p.text for c in response.choices for p in c.parts if isinstance(p, RefusalPart)]
    reason = STOP_REASONS[last.finish_reason]
    if refusals and reason == "end_turn":
        reason = "refusal"
    fields: dict[str, Json] = {
        "stop_reason": reason,
        "stop_sequence": last.stop_sequence if reason == "stop_sequence" else None,
        "stop_details": None,
    }
    if reason == "refusal":
        explanation = refusals[-1] if refusals else None
        fields["stop_details"] = {"type": "refusal", "category": None, "explanation": explanation}
    return fields | {key: value for key, value in response.metadata.items() if key in _STOP_FIELDS}


def has_block(part: AnswerPart) -> bool:
    """Return whether a part becomes a block: not if it is empty or of a tool that Anthropic lacks.
    Use and result of an MCP listing are one block, the result's."""
    match part:
        case TextPart() | RefusalPart():
            return part.text != ""
        case ReasoningPart():
            return bool(part.text or part.signature) or part.redacted is not None
        case ServerToolUsePart():
            return part.name not in _UNKNOWN_TOOLS and not is_mcp_listing(part)
        case ServerToolResultPart():
            return part.name not in _UNKNOWN_TOOLS or bool(part.server)
        case _:
            return True


def is_mcp_listing(part: ServerToolUsePart | ServerToolResultPart) -> bool:
    """Return True for the part in which a provider lists the tools of an MCP server."""
    return bool(part.server) and part.name == LIST_MCP_TOOLS


def opening_block(part: AnswerPart) -> dict[str, Any]:
    """Return a part's block as it opens in a stream, before its deltas; whole if it has none."""
    match part:
        case TextPart(citations=(_, *_)):
            return {"type": "text", "text": "", "citations": []}
        case TextPart() | RefusalPart():
            return {"type": "text", "text": ""}
        case ReasoningPart(redacted=None):
            return {"type": "thinking", "thinking": "", "signature": ""}
        case ToolCallPart():
            call = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
            return {**call, "caller": _DIRECT}
        case ServerToolUsePart():
            use = {"type": "server_tool_use", "id": part.id, "name": part.name, "input": {}}
            mcp = {"type": "mcp_tool_use", "server_name": part.server}
            return use | mcp if part.server else use
        case ServerToolResultPart():
            return result_block(part)
        case _:
            return {"type": "redacted_thinking", "data": part.redacted}


def _complete_block(part: AnswerPart) -> dict[str, Any]:
    """Return the content block of a part; arguments that are no JSON object become an empty one."""
    block = opening_block(part)
    match part:
        case TextPart(text=text, citations=(_, *_) as citations):
            block |= {"text": text, "citations": [citation_block(each) for each in citations]}
        case TextPart(text=text) | RefusalPart(text=text):
            block["text"] = text
        case ReasoningPart(redacted=None):
            block |= {"thinking": part.text, "signature": part.signature or ""}
        # Only a stream can carry broken arguments: in a whole response they arrive empty.
        case ToolCallPart(arguments=text) | ServerToolUsePart(input=text):
            block["input"] = object_json(text)
    return block


def _scripted_fields(response: CanonicalResponse, message: Mapping[str, Any]) -> dict[str, Json]:
    """Return the scripted top-level fields that are neither in `message` nor stop fields."""
    reserved = {*message, *_STOP_FIELDS}
    return {key: value for key, value in response.metadata.items() if key not in reserved}


def result_block(part: ServerToolResultPart) -> dict[str, Any]:
    """Return the block of a server tool's result. It has no deltas: a stream sends it whole."""
    if part.server:
        return _mcp_result_block(part)
    tool = _TOOL_SEARCH if part.name.startswith(_TOOL_SEARCH) else part.name
    block = f"{tool}_tool_result"
    content: Json = {"type": f"{block}_error", "error_code": part.error_code}
    if part.error_code is None:
        result: Json = json.loads(part.content)
        searched = tool == "web_search"
        content = _web_search_hits(result) if searched else _tool_result_content(result, tool)
    return {"type": block, "tool_use_id": part.tool_use_id, "content": content}


def _mcp_result_block(part: ServerToolResultPart) -> dict[str, Any]:
    """Return the block of an MCP tool's result, or of the list of a server's tools."""
    result: Json = json.loads(part.content)
    if is_mcp_listing(part):
        tools = result if isinstance(result, list) else []
        return {"type": "mcp_tool_listing", "mcp_server_name": part.server, "tools": tools}
    text = part.error_code if part.error_code is not None else _to_text(result)
    content = result if isinstance(result, list) else [{"type": "text", "text": text}]
    return {
        "type": "mcp_tool_result",
        "tool_use_id": part.tool_use_id,
        "is_error": part.error_code is not None,
        "content": content,
    }


def citation_block(citation: Citation) -> dict[str, Any]:
    """Return a citation: of a web page that a search returned, or of a document in the request."""
    if citation.document:
        kind, first, last = LOCATIONS[citation.unit]
        return {
            "type": kind,
            "cited_text": citation.cited_text,
            "document_index": citation.document_index,
            "document_title": citation.title or citation.document,
            first: citation.place[0],
            last: citation.place[1],
            "file_id": citation.file_id or None,
        }
    return {
        "type": "web_search_result_location",
        "url": citation.url,
        "title": citation.title,
        "cited_text": citation.cited_text,
        "encrypted_index": "",
    }


def _web_search_hits(result: Json) -> list[Json]:
    """Return the hits of a web search's result, which may be a list, an object with a list, or one
    hit."""
    match result:
        case None:
            return []
        case list(hits):
            return list(map(_web_search_hit, hits))
        case {"search_results": list(hits)} | {"results": list(hits)} | {"content": list(hits)}:
            return list(map(_web_search_hit, hits))
        case _:
            return [_web_search_hit(result)]


def _web_search_hit(item: Json) -> Json:
    """Return one search hit with every field that its type requires."""
    fields = item if isinstance(item, dict) else {"title": item}
    return {
        "type": "web_search_result",
        "url": _to_text(fields.get("url")),
        "title": _to_text(fields.get("title")),
        "encrypted_content": _to_text(fields.get("encrypted_content")),
        "page_age": _to_text(fields.get("page_age")) or None,
    }


def _tool_result_content(result: Json, tool: str) -> Json:
    """Return the content for a scripted result of a tool other than web search. An object or null
    gets the tool's result type, the output of a command all its fields; others are unchanged."""
    kind: dict[str, Json] = {"type": _RESULT_TYPES.get(tool, f"{tool}_result")}
    if tool in _COMMAND_TOOLS and not isinstance(result, list):
        output = result if isinstance(result, dict) else {"stdout": _to_text(result)}
        return {**kind, **_COMMAND_OUTPUT, **output}
    return kind | (result or {}) if isinstance(result, dict | None) else result


def _to_text(value: Json) -> str:
    """Return a text unchanged, None as an empty text, and any other value as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
