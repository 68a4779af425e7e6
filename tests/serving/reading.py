"""Parses provider answers, whole or streamed, into the same plain data without an SDK."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class ParsedChoice:
    """One choice of an answer; `pieces` and `reasoning_deltas` are the deltas of a stream."""

    reasoning: str = ""
    text: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    annotations: list[Any] = field(default_factory=list)
    finish: str | None = None
    pieces: list[str] = field(default_factory=list, compare=False)
    reasoning_deltas: list[str] = field(default_factory=list, compare=False)


def events_of(body: bytes) -> list[str]:
    """Return the data of each server-sent event."""
    events = body.decode().removesuffix("\n\n").split("\n\n")
    return [line[6:] for e in events for line in e.split("\n") if line.startswith("data: ")]


def parse_openai_body(body: bytes) -> list[ParsedChoice]:
    return [_parse_message(choice) for choice in json.loads(body)["choices"]]


def parse_openai_stream(body: bytes) -> list[ParsedChoice]:
    """Return the choices of a stream; assert that they are not interleaved and end at most once."""
    choices: list[ParsedChoice] = []
    for data in events_of(body):
        if data == "[DONE]":
            break
        (choice,) = json.loads(data)["choices"]
        if choice["index"] == len(choices):
            assert "role" in choice["delta"]
            choices.append(ParsedChoice())
        assert choice["index"] == len(choices) - 1, "choices are interleaved"
        _add_delta(choices[-1], choice)
    return choices


def parse_anthropic_body(body: bytes) -> tuple[list[dict[str, Any]], str]:
    """Return the content blocks and the stop reason."""
    message = json.loads(body)
    return message["content"], message["stop_reason"]


def parse_anthropic_stream(body: bytes) -> tuple[list[dict[str, Any]], str | None]:
    """Return the content blocks and the stop reason; assert that blocks are not interleaved."""
    blocks: list[dict[str, Any]] = []
    texts: list[str] = []
    reason = None
    open_ = False
    for data in map(json.loads, events_of(body)):
        match data["type"]:
            case "content_block_start":
                assert not open_ and data["index"] == len(blocks)
                open_ = True
                texts = []
                blocks.append(data["content_block"])
            case "content_block_delta":
                assert open_ and data["index"] == len(blocks) - 1
                _extend_block(blocks[-1], data["delta"], texts)
            case "content_block_stop":
                open_ = False
                if "input" in blocks[-1]:
                    blocks[-1]["input"] = json.loads("".join(texts) or "{}")
            case "message_delta":
                reason = data["delta"]["stop_reason"]
    return blocks, reason


def parse_ollama_body(body: bytes) -> ParsedChoice:
    return _add_line(ParsedChoice(), json.loads(body))


def parse_ollama_stream(body: bytes) -> ParsedChoice:
    """Join the lines of a stream; assert that none follows the line that says it is done."""
    parsed = ParsedChoice()
    for line in body.splitlines():
        assert parsed.finish is None, "the stream goes on after its end"
        _add_line(parsed, json.loads(line))
    return parsed


def parse_gemini_body(body: bytes) -> ParsedChoice:
    return _add_chunk(ParsedChoice(), json.loads(body))


def parse_gemini_stream(body: bytes) -> ParsedChoice:
    """Join the chunks of a stream; assert that none follows the chunk with a finish reason."""
    parsed = ParsedChoice()
    *events, rest = body.decode().split("\r\n\r\n")
    assert rest == "", "an event is not ended by a blank line"
    for event in events:
        assert parsed.finish is None, "the stream goes on after its end"
        _add_chunk(parsed, json.loads(event.removeprefix("data: ")))
    return parsed


def deltas_of(body: bytes) -> list[dict[str, Any]]:
    """Return the deltas of an Anthropic stream."""
    events = map(json.loads, events_of(body))
    return [event["delta"] for event in events if event["type"] == "content_block_delta"]


def _add_chunk(parsed: ParsedChoice, chunk: dict[str, Any]) -> ParsedChoice:
    (candidate,) = chunk["candidates"]
    for part in candidate["content"]["parts"]:
        if call := part.get("functionCall"):
            parsed.calls.append(call)
        elif part.get("thought"):
            parsed.reasoning += part["text"]
            parsed.reasoning_deltas += [part["text"]] if part["text"] else []
        elif text_piece := part.get("text"):
            parsed.text += text_piece
            parsed.pieces.append(text_piece)
    sources = candidate.get("citationMetadata", {}).get("citationSources", [])
    parsed.annotations += sources
    parsed.finish = candidate.get("finishReason")
    assert chunk["usageMetadata"]["promptTokenCount"] > 0
    return parsed


def _add_line(parsed: ParsedChoice, line: dict[str, Any]) -> ParsedChoice:
    message = line["message"]
    if piece := message["content"]:
        parsed.text += piece
        parsed.pieces.append(piece)
    if thought := message.get("thinking"):
        parsed.reasoning += thought
        parsed.reasoning_deltas.append(thought)
    for call in message.get("tool_calls", []):
        assert set(call) == {"function"}
        parsed.calls.append(call["function"])
    assert line["done"] == ("done_reason" in line)
    parsed.finish = line.get("done_reason")
    return parsed


def _parse_message(choice: dict[str, Any]) -> ParsedChoice:
    message = choice["message"]
    assert "reasoning_content" not in message
    return ParsedChoice(
        reasoning=message.get("reasoning", ""),
        text=message["content"] or "",
        calls=[{"id": c["id"], **c["function"]} for c in message.get("tool_calls", [])],
        annotations=message["annotations"],
        finish=choice["finish_reason"],
    )


def _add_delta(parsed: ParsedChoice, choice: dict[str, Any]) -> None:
    delta = choice["delta"]
    assert parsed.finish is None, "a choice goes on after its end"
    assert "reasoning_content" not in delta
    if piece := delta.get("content"):
        parsed.text += piece
        parsed.pieces.append(piece)
    if thought := delta.get("reasoning"):
        assert not parsed.text, "reasoning comes after text"
        parsed.reasoning += thought
        parsed.reasoning_deltas.append(thought)
    for call in delta.get("tool_calls", []):
        _add_call_delta(parsed.calls, call)
    parsed.annotations += delta.get("annotations", [])
    parsed.finish = choice["finish_reason"]


def _add_call_delta(calls: list[dict[str, Any]], call: dict[str, Any]) -> None:
    function = call["function"]
    if call["index"] == len(calls):
        assert function["arguments"] == "", "arguments come with the name"
        calls.append({"id": call["id"], "name": function["name"], "arguments": ""})
        return
    assert call["index"] == len(calls) - 1, "calls are interleaved"
    assert "name" not in function and "id" not in call
    calls[-1]["arguments"] += function["arguments"]


def _extend_block(block: dict[str, Any], delta: dict[str, Any], texts: list[str]) -> None:
    match delta:
        case {"type": "text_delta", "text": text}:
            block["text"] += text
        case {"type": "thinking_delta", "thinking": text}:
            block["thinking"] += text
        case {"type": "signature_delta", "signature": text}:
            block["signature"] = text
        case {"type": "input_json_delta", "partial_json": text}:
            texts.append(text)
        case {"type": "citations_delta", "citation": citation}:
            block["citations"].append(citation)
        case other:
            raise AssertionError(other)
