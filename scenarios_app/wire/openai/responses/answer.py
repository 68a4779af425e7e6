"""Renders an answer as OpenAI's `response`: its items, how it ended, and the request repeated."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Json, Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    Citation,
    ReasoningPart,
    RefusalPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.openai.responses.request import ResponseFields

# What an answer consists of can't be replaced by a script's own top-level fields.
_STRUCTURE = frozenset({"object", "output", "usage"})
# How an answer ended is not known when its stream begins.
_ENDING = frozenset({"completed_at", "error", "incomplete_details", "status"})
_REASONS: Mapping[str, str] = {"length": "max_output_tokens", "content_filter": "content_filter"}
_WEB_SEARCH = "web_search"


@dataclass(frozen=True, slots=True)
class Placed:
    """An item of the output, and the part of the answer that it says. A message has its `content`
    in one piece."""

    index: int
    part: AnswerPart
    item: dict[str, Json]
    content: dict[str, Json] | None = None


def placed_items(
    request: CanonicalRequest, response: CanonicalResponse
) -> dict[tuple[int, int], Placed]:
    """The items of the output by the choice and the part that they come from, in order.

    Several choices are one output, each part that this API has a word for an item of it. Calls of
    one id, which alternatives may have, are told apart: no output holds an id twice.
    """
    own: ResponseFields = request.own
    custom = _custom_tools(own.given.get("tools"))
    taken: set[str] = set()
    placed: dict[tuple[int, int], Placed] = {}
    for number, choice in enumerate(response.choices):
        for index, part in enumerate(choice.parts):
            if isinstance(part, ToolCallPart):
                part = replace(part, id=_unused(part.id, taken))
            item_id = f"{response.id}{len(placed):02x}"
            content = _content(part)
            item = _message(item_id, content) if content else _item(part, item_id, custom)
            if item is not None:
                placed[number, index] = Placed(len(placed), part, item, content)
    if placed and _incomplete(response):
        last = next(reversed(placed.values())).item
        if "status" in last:
            last["status"] = "incomplete"
    return placed


def response_body(request: CanonicalRequest, response: CanonicalResponse) -> dict[str, Json]:
    """The whole answer."""
    incomplete = _incomplete(response)
    body: dict[str, Json] = {
        "status": "incomplete" if incomplete else "completed",
        "completed_at": None if incomplete else response.created,
        "error": None,
        "incomplete_details": {"reason": incomplete} if incomplete else None,
    }
    ending = {key: value for key, value in response.metadata.items() if key in _ENDING}
    output: list[Json] = [placed.item for placed in placed_items(request, response).values()]
    usage = usage_fields(response.usage)
    return {**_head(request, response), **body, **ending, "output": output, "usage": usage}


def opening_body(request: CanonicalRequest, response: CanonicalResponse) -> dict[str, Json]:
    """The answer as its stream begins it: nothing said, nothing counted."""
    body: dict[str, Json] = {
        "status": "in_progress",
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }
    return {**_head(request, response), **body}


def usage_fields(usage: Usage) -> dict[str, Json]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens + usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


def annotations_of(part: TextPart) -> list[Json]:
    """The sources of a text, each by the words that it is cited for, or by all of it."""
    return [_annotation(citation, part.text) for citation in part.citations]


def _head(request: CanonicalRequest, response: CanonicalResponse) -> dict[str, Json]:
    """The fields that do not depend on how the answer goes on."""
    own: ResponseFields = request.own
    given = own.given
    text = given.get("text")
    reasoning = given.get("reasoning")
    head: dict[str, Json] = {
        "id": f"resp_{response.id}",
        "object": "response",
        "created_at": response.created,
        "background": given.get("background") or False,
        "instructions": given.get("instructions"),
        "max_output_tokens": request.max_tokens,
        "max_tool_calls": given.get("max_tool_calls"),
        "metadata": dict(request.metadata),
        "model": response.model,
        "parallel_tool_calls": given.get("parallel_tool_calls") is not False,
        "previous_response_id": given.get("previous_response_id"),
        "prompt_cache_key": given.get("prompt_cache_key"),
        "prompt_cache_retention": given.get("prompt_cache_retention"),
        "reasoning": {
            "effort": None,
            "summary": None,
            **(reasoning if isinstance(reasoning, dict) else {}),
        },
        "safety_identifier": given.get("safety_identifier"),
        "service_tier": "default",
        "store": given.get("store") is not False,
        "temperature": 1.0 if request.temperature is None else request.temperature,
        "text": {"format": {"type": "text"}, **(text if isinstance(text, dict) else {})},
        "tool_choice": request.tool_choice or "auto",
        "tools": given.get("tools") or [],
        "top_logprobs": given.get("top_logprobs") or 0,
        "top_p": 1.0 if request.top_p is None else request.top_p,
        "truncation": given.get("truncation") or "disabled",
        "user": given.get("user"),
    }
    if own.conversation is not None:
        head["conversation"] = {"id": own.conversation}
    if "prompt" in given:
        head["prompt"] = given["prompt"]
    taken = _STRUCTURE | _ENDING
    return head | {key: value for key, value in response.metadata.items() if key not in taken}


def _unused(call_id: str, taken: set[str]) -> str:
    name, number = call_id, 1
    while name in taken:
        number += 1
        name = f"{call_id}_{number}"
    taken.add(name)
    return name


def _incomplete(response: CanonicalResponse) -> str | None:
    """Why the answer is not all there; the last choice tells."""
    return _REASONS.get(response.choices[-1].finish_reason)


def _content(part: AnswerPart) -> dict[str, Json] | None:
    match part:
        case TextPart():
            return {
                "type": "output_text",
                "text": part.text,
                "annotations": annotations_of(part),
                "logprobs": [],
            }
        case RefusalPart():
            return {"type": "refusal", "refusal": part.text}
        case _:
            return None


def _item(part: AnswerPart, item_id: str, custom: frozenset[str]) -> dict[str, Json] | None:
    match part:
        case ReasoningPart():
            summary: list[Json] = [{"type": "summary_text", "text": part.text}] if part.text else []
            return {
                "type": "reasoning",
                "id": f"rs_{item_id}",
                "summary": summary,
                "encrypted_content": part.redacted or part.signature,
            }
        case ToolCallPart():
            is_custom = part.name in custom
            return {
                "type": "custom_tool_call" if is_custom else "function_call",
                "id": f"{'ctc' if is_custom else 'fc'}_{item_id}",
                "call_id": part.id,
                "name": part.name,
                "input" if is_custom else "arguments": part.arguments,
                "status": "completed",
            }
        case ServerToolUsePart() if part.name.startswith(_WEB_SEARCH):
            return {
                "type": "web_search_call",
                "id": f"ws_{item_id}",
                "status": "completed",
                "action": _search(json.loads(part.input)),
            }
        case _:
            return None


def _message(item_id: str, content: Json) -> dict[str, Json]:
    return {
        "type": "message",
        "id": f"msg_{item_id}",
        "status": "completed",
        "role": "assistant",
        "content": [content],
    }


def _search(given: Mapping[str, Json]) -> Json:
    query = given.get("query")
    queries: list[Json] = [query] if isinstance(query, str) else []
    return {"type": "search", "query": query if queries else "", "queries": queries}


def _annotation(citation: Citation, text: str) -> Json:
    start = text.find(citation.cited_text)
    cited = bool(citation.cited_text) and start >= 0
    return {
        "type": "url_citation",
        "start_index": start if cited else 0,
        "end_index": start + len(citation.cited_text) if cited else len(text),
        "title": citation.title or "",
        "url": citation.url,
    }


def _custom_tools(tools: Json) -> frozenset[str]:
    names = set()
    for tool in tools if isinstance(tools, list) else ():
        match tool:
            case {"type": "custom", "name": str(name)}:
                names.add(name)
    return frozenset(names)
