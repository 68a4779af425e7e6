"""What an Anthropic answer says, the same in a whole answer and in a stream: its content blocks,
those of Anthropic's own tools among them, the sources that a text cites, and why it stopped.

Types from the official SDK: `ServerToolUseBlock`, `WebSearchToolResultBlock` and its siblings,
`CitationsWebSearchResultLocation`.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from scenarios_app.engine.canonical import CanonicalResponse, Json
from scenarios_app.engine.parts import (
    AnswerPart,
    Citation,
    FinishReason,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.anthropic.options import AnthropicOptions
from scenarios_app.wire.anthropic.usage import opening_usage, whole_usage

_STOP_REASONS: Mapping[FinishReason, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "stop_sequence": "stop_sequence",
    "content_filter": "refusal",
}
# Thirty days.
_CONTAINER_SECONDS = 2_592_000
_DIRECT = {"type": "direct"}
_STOP_FIELDS = ("stop_reason", "stop_sequence", "stop_details")

_decode = msgspec.json.Decoder().decode
# They run in a container.
CODE_TOOLS = frozenset({"code_execution", "bash_code_execution", "text_editor_code_execution"})
_WEB_SEARCH = "web_search"
_TOOL_SEARCH = "tool_search"
# Results are named after their tool, all but this one.
_RESULT_TYPES = {_TOOL_SEARCH: "tool_search_tool_search_result"}
# Where clients that script a search's result put its list.
_LIST_KEYS = ("search_results", "results", "content")


def render_message(response: CanonicalResponse, options: AnthropicOptions) -> dict[str, Any]:
    """The whole message. Scripted metadata adds to it and may replace only why it stopped."""
    parts = (part for choice in response.choices for part in choice.parts)
    message = {
        **_head_fields(response),
        "content": [_complete_block(part) for part in parts if has_block(part)],
        **stop_fields(response),
        "usage": whole_usage(response, options),
    }
    extras = _scripted_fields(response, message)
    return {
        **message,
        **container_fields(response, options),
        **context_management_fields(options),
        **extras,
    }


def opening_message(response: CanonicalResponse, options: AnthropicOptions) -> dict[str, Any]:
    """The message as a stream begins it: no content yet."""
    message = {
        **_head_fields(response),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
        "usage": opening_usage(response, options),
    }
    return {**message, **_scripted_fields(response, message)}


def container_fields(response: CanonicalResponse, options: AnthropicOptions) -> dict[str, Json]:
    """The container that code of this answer ran in, if any did. A stream has it at the end."""
    parts = (part for choice in response.choices for part in choice.parts)
    ran = (isinstance(part, ServerToolUsePart) and part.name in CODE_TOOLS for part in parts)
    if "container" in response.metadata or not any(ran):
        return {}
    expiry = datetime.fromtimestamp(response.created + _CONTAINER_SECONDS, UTC)
    name = options.container or f"container_{response.id[:24]}"
    return {"container": {"id": name, "expires_at": expiry.strftime("%Y-%m-%dT%H:%M:%SZ")}}


def context_management_fields(options: AnthropicOptions) -> dict[str, Json]:
    """What was edited of the context: nothing ever is."""
    return {"context_management": {"applied_edits": []}} if options.managed else {}


def stop_fields(response: CanonicalResponse) -> dict[str, Json]:
    """Why the message stopped. There is one reason on this wire: the last choice's, unless it
    ends as it should and an earlier one has tools called, which the client is to do."""
    last = response.choices[-1]
    if last.finish_reason == "stop":
        last = next((c for c in response.choices if c.finish_reason == "tool_calls"), last)
    refusals = [p.text for c in response.choices for p in c.parts if isinstance(p, RefusalPart)]
    reason = _STOP_REASONS[last.finish_reason]
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
    """Whether a part becomes a block: the API never sends an empty text, and neither do we."""
    match part:
        case TextPart() | RefusalPart():
            return part.text != ""
        case ReasoningPart():
            return bool(part.text or part.signature) or part.redacted is not None
        case _:
            return True


def opening_block(part: AnswerPart) -> dict[str, Any]:
    """A block as a stream begins it, before its deltas fill it."""
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
            return {"type": "server_tool_use", "id": part.id, "name": part.name, "input": {}}
        case ServerToolResultPart():
            return result_block(part)
        case _:
            return {"type": "redacted_thinking", "data": part.redacted}


def _complete_block(part: AnswerPart) -> dict[str, Any]:
    block = opening_block(part)
    match part:
        case TextPart() | RefusalPart():
            block["text"] = part.text
            if isinstance(part, TextPart) and part.citations:
                block["citations"] = [citation_block(citation) for citation in part.citations]
        case ReasoningPart(redacted=None):
            block |= {"thinking": part.text, "signature": part.signature or ""}
        case ToolCallPart():
            block["input"] = _tool_input(part.arguments)
        case ServerToolUsePart():
            block["input"] = _tool_input(part.input)
    return block


def _tool_input(arguments: str) -> msgspec.Raw:
    """Scripted arguments as a tool's input: `{}` where they are anything but a JSON object.

    Only a stream can carry broken arguments on this wire: in a whole answer `input` is an object
    by its type, and one that was cut short arrives empty.
    """
    try:
        is_object = isinstance(_decode(arguments), dict)
    except (msgspec.MsgspecError, RecursionError):
        is_object = False
    return msgspec.Raw(arguments.encode() if is_object else b"{}")


def _head_fields(response: CanonicalResponse) -> dict[str, Any]:
    return {
        "id": f"msg_{response.id}",
        "type": "message",
        "role": "assistant",
        "model": response.model,
    }


def _scripted_fields(response: CanonicalResponse, message: Mapping[str, Any]) -> dict[str, Json]:
    reserved = {*message, *_STOP_FIELDS}
    return {key: value for key, value in response.metadata.items() if key not in reserved}


def result_block(part: ServerToolResultPart) -> dict[str, Any]:
    """The block of a result. It has no deltas: a stream gives it whole when it begins."""
    tool = _TOOL_SEARCH if part.name.startswith(_TOOL_SEARCH) else part.name
    block = f"{tool}_tool_result"
    content: Json = {"type": f"{block}_error", "error_code": part.error_code}
    if part.error_code is None:
        result: Json = json.loads(part.content)
        content = (
            _search_results(result) if tool == _WEB_SEARCH else _tool_result_content(result, tool)
        )
    return {"type": block, "tool_use_id": part.tool_use_id, "content": content}


def citation_block(citation: Citation) -> dict[str, Any]:
    """A source as web search cites it: the one kind that is named by an address."""
    return {
        "type": "web_search_result_location",
        "url": citation.url,
        "title": citation.title,
        "cited_text": citation.cited_text,
        "encrypted_index": "",
    }


def _search_results(result: Json) -> list[Json]:
    match result:
        case None:
            return []
        case list():
            return [_search_result(item) for item in result]
        case dict():
            for key in _LIST_KEYS:
                if isinstance(listed := result.get(key), list):
                    return _search_results(listed)
            return [_search_result(result)]
        case _:
            return [_search_result(result)]


def _search_result(item: Json) -> Json:
    """One hit, with every field that its type asks for."""
    fields = item if isinstance(item, dict) else {"title": item}
    return {
        "type": "web_search_result",
        "url": _to_text(fields.get("url")),
        "title": _to_text(fields.get("title")),
        "encrypted_content": _to_text(fields.get("encrypted_content")),
        "page_age": _to_text(fields.get("page_age")) or None,
    }


def _tool_result_content(result: Json, tool: str) -> Json:
    """The result of any other tool as it was given, under the type that the tool's has."""
    kind: dict[str, Json] = {"type": _RESULT_TYPES.get(tool, f"{tool}_result")}
    match result:
        case None:
            return kind
        case dict():
            return kind | result
        case _:
            return result


def _to_text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
