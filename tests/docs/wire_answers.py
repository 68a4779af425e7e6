"""Converts a server's responses to the lines of a transcript."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import httpx2

CONNECTION_CLOSED = "error the connection closes"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response as lines of a transcript, with its headers and JSON."""

    lines: list[str]
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


def answer_lines(client: httpx2.Client, request: httpx2.Request) -> Answer:
    """Send a request and read the complete response."""
    try:
        response = client.send(request, stream=True)
    except httpx2.RemoteProtocolError:
        return Answer([CONNECTION_CLOSED])
    with closing(response):
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            return Answer(list(_stream_lines(response)), response.headers)
        try:
            text = response.read().decode()
        except httpx2.RemoteProtocolError:
            return Answer([CONNECTION_CLOSED], response.headers)
    try:
        body = json.loads(text)
    except json.JSONDecodeError:
        body = None
    return Answer(list(_complete_lines(response.status_code, text, body)), response.headers, body)


def _complete_lines(status: int, text: str, body: Any) -> Iterator[str]:
    match body:
        case {"error": {"message": message}} | {"error": str(message)}:
            yield f"error {status} {message}"
        case {"choices": [*choices]}:
            for choice in choices:
                yield from _message(choice["message"])
        case {"role": "assistant", "content": [*blocks]}:
            yield from map(_block, blocks)
        case {"message": message, "done": True}:
            yield from _message(message)
        case _:
            yield f"raw {status} {text}"


def _message(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of an OpenAI or Ollama message."""
    for word, key in (
        ("think", "reasoning"),
        ("think", "thinking"),
        ("model", "content"),
        ("refuse", "refusal"),
    ):
        if message.get(key):
            yield f"{word} {message[key]}"
    for call in message.get("tool_calls") or ():
        content = call.get("custom") or call["function"]
        arguments = content.get("input", content.get("arguments"))
        arguments_text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        yield f"call {content['name']}({arguments_text})"


def _block(block: Mapping[str, Any]) -> str:
    """Return the line of an Anthropic content block."""
    match block:
        case {"type": "thinking", "thinking": text}:
            return f"think {text}"
        case {"type": "redacted_thinking"}:
            return "think (redacted)"
        case {"type": "tool_use", "name": name, "input": arguments}:
            return f"call {name}({json.dumps(arguments)})"
        case _:
            return f"model {block['text']}"


def _stream_lines(response: httpx2.Response) -> Iterator[str]:
    """Yield a line for each kind of delta in OpenAI chunks, its parts separated by bars."""
    deltas: dict[tuple[str, int, int], list[str]] = {}
    end = "error the stream stops without its end"
    try:
        for line in response.iter_lines():
            if line == "data: [DONE]":
                end = ""
            elif line.startswith("data: "):
                _collect_deltas(json.loads(line.removeprefix("data: ")), deltas)
    except httpx2.RemoteProtocolError:
        end = CONNECTION_CLOSED
    except json.JSONDecodeError:
        end = "error a chunk cannot be read"
    except _StreamError as error:
        end = f"error {error}"
    for (kind, _, _), texts in deltas.items():
        name, *arguments = texts
        yield (
            f"call {name}({'|'.join(arguments)})" if kind == "call" else f"{kind} {'|'.join(texts)}"
        )
    if end:
        yield end


class _StreamError(Exception):
    """The stream contains an error."""


def _collect_deltas(chunk: Any, deltas: dict[tuple[str, int, int], list[str]]) -> None:
    """Append a chunk's deltas by kind, choice and call."""
    if "error" in chunk:
        raise _StreamError(chunk["error"]["message"])
    for choice in chunk["choices"]:
        delta, number = choice["delta"], choice["index"]
        for kind, key in (("think", "reasoning"), ("stream", "content"), ("refuse", "refusal")):
            if delta.get(key):
                deltas.setdefault((kind, number, 0), []).append(delta[key])
        for call in delta.get("tool_calls") or ():
            texts = deltas.setdefault(("call", number, call["index"]), [])
            content = call.get("custom") or call["function"]
            texts += [text for text in content.values() if text]
