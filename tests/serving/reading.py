"""Provider answers put together by hand, whole or from their streams, to the same plain data."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Spoken:
    """One of an OpenAI answer's choices; `pieces` are its content deltas, in a stream."""

    reasoning: str = ""
    text: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    annotations: list[Any] = field(default_factory=list)
    finish: str | None = None
    pieces: list[str] = field(default_factory=list, compare=False)
    thoughts: list[str] = field(default_factory=list, compare=False)


def events_of(body: bytes) -> list[str]:
    """The data of each server-sent event."""
    events = body.decode().removesuffix("\n\n").split("\n\n")
    return [line[6:] for e in events for line in e.split("\n") if line.startswith("data: ")]


def openai_whole(body: bytes) -> list[Spoken]:
    return [_message(choice) for choice in json.loads(body)["choices"]]


def openai_stream(body: bytes) -> list[Spoken]:
    """The choices of a stream, which come one after another, each ended at most once."""
    spoken: list[Spoken] = []
    for data in events_of(body):
        if data == "[DONE]":
            break
        (choice,) = json.loads(data)["choices"]
        if choice["index"] == len(spoken):
            assert "role" in choice["delta"]
            spoken.append(Spoken())
        assert choice["index"] == len(spoken) - 1, "choices are interleaved"
        _hear(spoken[-1], choice)
    return spoken


def anthropic_whole(body: bytes) -> tuple[list[dict[str, Any]], str]:
    """The blocks, and why the message stopped."""
    message = json.loads(body)
    return message["content"], message["stop_reason"]


def anthropic_stream(body: bytes) -> tuple[list[dict[str, Any]], str | None]:
    """The same from a stream, whose blocks come strictly one after another."""
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
                _grow(blocks[-1], data["delta"], texts)
            case "content_block_stop":
                open_ = False
                if "input" in blocks[-1]:
                    blocks[-1]["input"] = json.loads("".join(texts) or "{}")
            case "message_delta":
                reason = data["delta"]["stop_reason"]
    return blocks, reason


def ollama_whole(body: bytes) -> Spoken:
    return _line(Spoken(), json.loads(body))


def ollama_stream(body: bytes) -> Spoken:
    """The lines of a stream put together; the last of them says that it is done, or none does."""
    spoken = Spoken()
    for line in body.splitlines():
        assert spoken.finish is None, "the stream goes on after its end"
        _line(spoken, json.loads(line))
    return spoken


def gemini_whole(body: bytes) -> Spoken:
    return _chunk(Spoken(), json.loads(body))


def gemini_stream(body: bytes) -> Spoken:
    """The chunks of a stream put together; the last of them says why it finished, or none does."""
    spoken = Spoken()
    *events, rest = body.decode().split("\r\n\r\n")
    assert rest == "", "an event is not ended by a blank line"
    for event in events:
        assert spoken.finish is None, "the stream goes on after its end"
        _chunk(spoken, json.loads(event.removeprefix("data: ")))
    return spoken


def deltas_of(body: bytes) -> list[dict[str, Any]]:
    """The deltas of an Anthropic stream."""
    events = map(json.loads, events_of(body))
    return [event["delta"] for event in events if event["type"] == "content_block_delta"]


def _chunk(spoken: Spoken, chunk: dict[str, Any]) -> Spoken:
    (candidate,) = chunk["candidates"]
    for part in candidate["content"]["parts"]:
        if call := part.get("functionCall"):
            spoken.calls.append(call)
        elif part.get("thought"):
            spoken.reasoning += part["text"]
            spoken.thoughts += [part["text"]] if part["text"] else []
        elif piece := part.get("text"):
            spoken.text += piece
            spoken.pieces.append(piece)
    sources = candidate.get("citationMetadata", {}).get("citationSources", [])
    spoken.annotations += sources
    spoken.finish = candidate.get("finishReason")
    assert chunk["usageMetadata"]["promptTokenCount"] > 0
    return spoken


def _line(spoken: Spoken, line: dict[str, Any]) -> Spoken:
    message = line["message"]
    if piece := message["content"]:
        spoken.text += piece
        spoken.pieces.append(piece)
    if thought := message.get("thinking"):
        spoken.reasoning += thought
        spoken.thoughts.append(thought)
    for call in message.get("tool_calls", []):
        assert set(call) == {"function"}
        spoken.calls.append(call["function"])
    assert line["done"] == ("done_reason" in line)
    spoken.finish = line.get("done_reason")
    return spoken


def _message(choice: dict[str, Any]) -> Spoken:
    message = choice["message"]
    assert "reasoning_content" not in message
    return Spoken(
        reasoning=message.get("reasoning", ""),
        text=message["content"] or "",
        calls=[{"id": c["id"], **c["function"]} for c in message.get("tool_calls", [])],
        annotations=message["annotations"],
        finish=choice["finish_reason"],
    )


def _hear(spoken: Spoken, choice: dict[str, Any]) -> None:
    delta = choice["delta"]
    assert spoken.finish is None, "a choice goes on after its end"
    assert "reasoning_content" not in delta
    if piece := delta.get("content"):
        spoken.text += piece
        spoken.pieces.append(piece)
    if thought := delta.get("reasoning"):
        assert not spoken.text, "reasoning comes after text"
        spoken.reasoning += thought
        spoken.thoughts.append(thought)
    for call in delta.get("tool_calls", []):
        _hear_call(spoken.calls, call)
    spoken.annotations += delta.get("annotations", [])
    spoken.finish = choice["finish_reason"]


def _hear_call(calls: list[dict[str, Any]], call: dict[str, Any]) -> None:
    function = call["function"]
    if call["index"] == len(calls):
        assert function["arguments"] == "", "arguments come with the name"
        calls.append({"id": call["id"], "name": function["name"], "arguments": ""})
        return
    assert call["index"] == len(calls) - 1, "calls are interleaved"
    assert "name" not in function and "id" not in call
    calls[-1]["arguments"] += function["arguments"]


def _grow(block: dict[str, Any], delta: dict[str, Any], texts: list[str]) -> None:
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
