"""Renders whole Responses of OpenAI: the output items and the status."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Json, Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    Citation,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.logprobs import token_logprobs
from scenarios_app.wire.openai.families import family_of
from scenarios_app.wire.openai.obfuscation import make_opaque_text
from scenarios_app.wire.openai.responses.echo import echo_fields, reasoning_effort, service_tier
from scenarios_app.wire.openai.responses.hosted import hosted_item
from scenarios_app.wire.openai.responses.request import ResponseFields
from scenarios_app.wire.openai.shared import citation_fields

# Fields that scripted metadata cannot replace.
_RESERVED_FIELDS = frozenset({"object", "output", "usage"})
# Fields that are not known when a stream begins.
_STATUS_FIELDS = frozenset({"completed_at", "error", "incomplete_details", "status"})
_REASONS: Mapping[str, str] = {"length": "max_output_tokens", "content_filter": "content_filter"}
# The key of unscripted reasoning, before the first part of the first choice.
UNSCRIPTED_REASONING = (-1, 0)


class OutputItem(msgspec.Struct, frozen=True):
    """An item of the output, with the part that it renders."""

    index: int
    part: AnswerPart
    item: dict[str, Any]

    @property
    def content(self) -> dict[str, Any]:
        """The only content of a message."""
        (content,) = self.item["content"]
        return content  # type: ignore[no-any-return]


def output_items(
    request: CanonicalRequest, response: CanonicalResponse
) -> dict[tuple[int, int], OutputItem]:
    """Return the output items by choice and part index, in order, without parts that have no item.

    Several choices become one output. Calls with the same id, which alternatives may have, get
    unique ids: an output must not repeat one. Reasoning that no script wrote comes first, under
    UNSCRIPTED_REASONING.
    """
    used_ids: set[str] = set()
    results = {
        part.tool_use_id: part
        for choice in response.choices
        for part in choice.parts
        if isinstance(part, ServerToolResultPart)
    }
    items: dict[tuple[int, int], OutputItem] = {}
    if _has_unscripted_reasoning(request, response):
        thought = ReasoningPart("")
        reasoning = _reasoning_item(thought, f"{response.id}00")
        items[UNSCRIPTED_REASONING] = OutputItem(0, thought, reasoning)
    for number, choice in enumerate(response.choices):
        for index, part in enumerate(choice.parts):
            if isinstance(part, ToolCallPart):
                part = replace(part, id=_make_unique(part.id, used_ids))
            item = _output_item(part, f"{response.id}{len(items):02x}", request.own, results)
            if item is not None:
                items[number, index] = OutputItem(len(items), part, item)
    if family_of(request.model).phased:
        _set_phases(items.values())
    if items and _incomplete_reason(response):
        last = next(reversed(items.values())).item
        if "status" in last:
            last["status"] = "incomplete"
    return items


def response_body(request: CanonicalRequest, response: CanonicalResponse) -> dict[str, Json]:
    """Return the whole response, as a request without `stream` gets it."""
    incomplete = _incomplete_reason(response)
    body: dict[str, Json] = {
        "status": "incomplete" if incomplete else "completed",
        "completed_at": None if incomplete else response.created,
        "error": None,
        "incomplete_details": {"reason": incomplete} if incomplete else None,
    }
    head = _head_fields(request, response, service_tier(request))
    if not head["background"]:
        body["billing"] = {"payer": "developer"}
    ending = {key: value for key, value in response.metadata.items() if key in _STATUS_FIELDS}
    output: list[Json] = [placed.item for placed in output_items(request, response).values()]
    usage = usage_fields(response.usage)
    return {**head, **body, **ending, "output": output, "usage": usage}


def opening_body(request: CanonicalRequest, response: CanonicalResponse) -> dict[str, Json]:
    """Return the response at its stream's start, without output; a background one is queued."""
    head = _head_fields(request, response, "auto")
    body: dict[str, Json] = {
        "status": "queued" if head["background"] else "in_progress",
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }
    return {**head, **body}


def usage_fields(usage: Usage) -> dict[str, Json]:
    """Return the token counts in the form of this API."""
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


def _annotation_json(citation: Citation, text: str) -> Json:
    """Return the citation of a web page or a file as an annotation of `text`."""
    if not citation.document:
        return {"type": "url_citation", **citation_fields(citation, text)}
    return {
        "type": "file_citation",
        "file_id": citation.file_id or make_file_id(citation.document),
        "filename": citation.document,
        "index": citation.span_in(text)[1],
    }


def make_file_id(name: str) -> str:
    """Return an id made of a file's name, for citations without one."""
    return f"file-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:22]}"


def _head_fields(
    request: CanonicalRequest, response: CanonicalResponse, tier: str
) -> dict[str, Json]:
    """Return the fields that are known without the output, with scripted metadata."""
    reserved = _RESERVED_FIELDS | _STATUS_FIELDS
    scripted = {key: value for key, value in response.metadata.items() if key not in reserved}
    return echo_fields(request, response) | {"service_tier": tier} | scripted


def _has_unscripted_reasoning(request: CanonicalRequest, response: CanonicalResponse) -> bool:
    """Return whether the output starts with a reasoning item that no script wrote. Reasoning models
    always send one, or only if effort or a summary is requested."""
    family = family_of(request.model)
    if family.effort is None or reasoning_effort(request) == "none":
        return False
    if not (family.shows_reasoning or request.reasoning):
        return False
    parts = [part for choice in response.choices for part in choice.parts]
    return bool(parts) and not any(isinstance(part, ReasoningPart) for part in parts)


def _reasoning_item(part: ReasoningPart, item_id: str) -> dict[str, Json]:
    """Return a reasoning item. Unscripted encrypted content is derived from its id."""
    summary: list[Json] = [{"type": "summary_text", "text": part.text}] if part.text else []
    return {
        "type": "reasoning",
        "id": f"rs_{item_id}",
        "content": [],
        "summary": summary,
        "encrypted_content": part.redacted or part.signature or make_opaque_text(item_id),
    }


def _set_phases(placed: Iterable[OutputItem]) -> None:
    """Set the phase of messages: commentary before a call, else the final answer."""
    phase = "final_answer"
    for each in reversed(list(placed)):
        if each.item["type"] in ("function_call", "custom_tool_call"):
            phase = "commentary"
        elif each.item["type"] == "message":
            each.item["phase"] = phase


def _make_unique(call_id: str, used_ids: set[str]) -> str:
    """Return a call id that is not used yet, with a number at its end if needed; add it to the
    used."""
    name, number = call_id, 1
    while name in used_ids:
        number += 1
        name = f"{call_id}_{number}"
    used_ids.add(name)
    return name


def _incomplete_reason(response: CanonicalResponse) -> str | None:
    """Return the reason in `incomplete_details`, by the last choice; None if it is complete."""
    return _REASONS.get(response.choices[-1].finish_reason)


def _output_item(
    part: AnswerPart,
    item_id: str,
    own: ResponseFields,
    results: Mapping[str, ServerToolResultPart],
) -> dict[str, Json] | None:
    """Return a part's item, whose id ends with `item_id`; None for a hosted tool's result, which is
    in the item of its use, and for unknown hosted tools."""
    match part:
        case TextPart():
            top = own.top_logprobs
            content: dict[str, Json] = {
                "type": "output_text",
                "text": part.text,
                "annotations": [_annotation_json(each, part.text) for each in part.citations],
                "logprobs": [] if top is None else token_logprobs(part.text, top),
            }
            return _message_item(item_id, content)
        case RefusalPart():
            return _message_item(item_id, {"type": "refusal", "refusal": part.text})
        case ServerToolUsePart():
            return hosted_item(part, results.get(part.id), item_id, own.included)
        case ReasoningPart():
            return _reasoning_item(part, item_id)
        case ToolCallPart():
            item: dict[str, Json] = {
                "type": "custom_tool_call" if part.custom else "function_call",
                "id": f"{'ctc' if part.custom else 'fc'}_{item_id}",
                "call_id": part.id,
                "name": part.name,
                "input" if part.custom else "arguments": part.arguments,
                "status": "completed",
            }
            if part.namespace:
                item["namespace"] = part.namespace
            return item
        case _:
            return None


def _message_item(item_id: str, content: Json) -> dict[str, Json]:
    return {
        "type": "message",
        "id": f"msg_{item_id}",
        "status": "completed",
        "role": "assistant",
        "content": [content],
    }
