"""Reads aimock's fixtures, `{"fixtures": [{"match", "response"}]}`; the first match answers."""

import json
from collections.abc import Iterator
from typing import Any, Final

from scenarios_app.engine.canonical import Json
from scenarios_app.recording.document import Conversion, make_conversion
from scenarios_app.recording.importers.reader import FileValue
from scenarios_app.wire.decoded import parse_json

_FINISHES: Final = ("stop", "length", "tool_calls", "content_filter")
_SUPPORTED_KEYS: Final = frozenset(
    {"userMessage", "systemMessage", "toolName", "toolCallId", "toolResultContains", "model"}
    | {"sequenceIndex", "turnIndex", "hasToolResult", "endpoint"}
)
# Keys that shape a stream in aimock.
_STREAM_KEYS: Final = frozenset({"chunkSize", "truncateAfterChunks", "disconnectAfterMs", "chaos"})
_USAGE: Final = {
    "input_tokens": ("input_tokens", "prompt_tokens", "promptTokenCount"),
    "output_tokens": ("output_tokens", "completion_tokens", "candidatesTokenCount"),
}


def recognizes(value: Any) -> bool:
    """True if a decoded file has fixtures of aimock."""
    fixtures = value.get("fixtures") if isinstance(value, dict) else None
    return isinstance(fixtures, list) and all(
        isinstance(fixture, dict) and "response" in fixture for fixture in fixtures
    )


def read_document(name: str, file: FileValue) -> Conversion:
    """Return the document of the fixtures; raises DocumentError."""
    steps: list[dict[str, Any]] = []
    notes: list[str] = []
    for number, fixture in enumerate(file.at("fixtures").items(), start=1):
        match = fixture.maybe("match")
        answer = _convert_response(fixture.at("response"))
        if answer is None:
            notes.append(f"left out: fixture {number}: an answer that is no text, call or error")
            continue
        left = sorted({*match.object()} - _SUPPORTED_KEYS) if match.is_present else []
        left += sorted(_STREAM_KEYS & {*fixture.object()})
        notes += [f"fixture {number}: {key} is not carried over" for key in left]
        step: dict[str, Any] = {"match": dict(_match_items(match)), "produce": answer}
        if isinstance(latency := fixture.maybe("latency").value, int) and latency > 0:
            answer["pacing"] = {"first_ms": latency, "chunk_ms": latency}
        turn = match.maybe("turnIndex")
        if turn.is_present:
            step["turn"] = turn.integer() + 1
        if not match.maybe("sequenceIndex").is_present:
            # Those with an index answer one after another, each once.
            step["consume"] = False
        steps.append(step)
    return make_conversion(name, steps, notes)


def _match_items(match: FileValue) -> Iterator[tuple[str, Json]]:
    """Yield the keys of `match` that a fixture's match stands for."""
    if not match.is_present:
        return
    messages: list[Json] = []
    for key, role in (("systemMessage", "system"), ("userMessage", "user")):
        value = match.at(key).value
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and text:
                which = "last" if role == "user" else "any"
                messages.append({"role": role, "which": which, "contains": text})
    contained = match.at("toolResultContains").value
    if isinstance(contained, str):
        messages.append({"role": "tool", "which": "last", "contains": contained})
    if messages:
        yield "messages", messages
    if match.at("model").is_present:
        yield "model", match.at("model").text()
    if match.at("toolName").is_present:
        yield "tools", [match.at("toolName").text()]
    if match.at("toolCallId").is_present:
        yield "tool_results", [{"tool_call_id": match.at("toolCallId").text()}]
    elif match.at("hasToolResult").value is True:
        yield "tool_results", [{"regex": "^"}]


def _convert_response(response: FileValue) -> dict[str, Any] | None:
    """Return the `produce` for a response, None for an unknown kind; raises DocumentError."""
    match response.value:
        case {"error": dict(error)}:
            return {"fault": dict(_fault_items(error, response.at("status").value))}
        case {"embedding": list(numbers)}:
            data = [{"object": "embedding", "index": 0, "embedding": numbers}]
            return {"raw": {"body": {"object": "list", "data": data, "model": "", "usage": {}}}}
        case {"blocks": list()}:
            produce: dict[str, Any] = {
                "parts": list(map(_convert_block, response.at("blocks").items()))
            }
        case {"content": _} | {"toolCalls": _}:
            produce = dict(_produce_items(response))
        case _:
            return None
    reason = response.at("finishReason").value
    if reason in _FINISHES:
        produce["finish_reason"] = reason
    usage = response.at("usage").value
    # Of several names the first counts.
    counts = {
        key: usage[name]
        for key, names in _USAGE.items()
        for name in reversed(names)
        if isinstance(usage, dict) and isinstance(usage.get(name), int)
    }
    return {**produce, "usage": counts} if counts else produce


def _produce_items(response: FileValue) -> Iterator[tuple[str, Json]]:
    """Yield the keys of `produce` that a fixture's response stands for."""
    reasoning, signature = response.at("reasoning").value, response.at("reasoningSignature").value
    if isinstance(reasoning, str) and reasoning:
        signed = {"signature": signature} if isinstance(signature, str) else {}
        block: Json = {"text": reasoning, **signed}
        yield "reasoning", [block]
    content = response.at("content").value
    if content is not None:
        # A file may hold the object that the text is JSON of.
        yield "text", content if isinstance(content, str) else json.dumps(content)
    if calls := list(map(_convert_call, response.at("toolCalls").items())):
        yield "tool_calls", [*calls]


def _convert_call(call: FileValue) -> dict[str, Json]:
    """Return a fixture's tool call as a scripted one; raises DocumentError."""
    arguments = call.at("arguments").value
    if isinstance(arguments, str) and isinstance(read := parse_json(arguments), dict):
        arguments = read
    tool_call: dict[str, Json] = {"name": call.at("name").text()}
    if isinstance(call.at("id").value, str):
        tool_call["id"] = call.at("id").text()
    return {**tool_call, "arguments": {} if arguments is None else arguments}


def _convert_block(block: FileValue) -> dict[str, Json]:
    """Return the part of an answer, a text or a tool call, for a block; raises DocumentError."""
    if block.at("type").value == "toolCall":
        return {"tool_call": _convert_call(block)}
    return {"text": block.at("text").text()}


def _fault_items(error: dict[str, Any], status: Any) -> Iterator[tuple[str, Json]]:
    """Yield the keys of the fault that a fixture's error stands for."""
    yield "kind", "http"
    yield "status", status if isinstance(status, int) and 200 <= status <= 599 else 500
    for key in ("message", "type", "code"):
        if isinstance(error.get(key), str):
            yield key, error[key]
