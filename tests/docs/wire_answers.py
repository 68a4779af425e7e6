"""What a server answers, as the lines of a transcript."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import httpx2

BROKEN = "error the connection closes"


@dataclass(frozen=True, slots=True)
class Answer:
    """The lines that say what came, and the headers and the JSON that said so."""

    lines: list[str]
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


def answer_lines(client: httpx2.Client, request: httpx2.Request) -> Answer:
    """Send a request and read all of its answer."""
    try:
        response = client.send(request, stream=True)
    except httpx2.RemoteProtocolError:
        return Answer([BROKEN])
    with closing(response):
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            return Answer(list(_streamed(response)), response.headers)
        try:
            text = response.read().decode()
        except httpx2.RemoteProtocolError:
            return Answer([BROKEN], response.headers)
    try:
        body = json.loads(text)
    except json.JSONDecodeError:
        body = None
    return Answer(list(_whole(response.status_code, text, body)), response.headers, body)


def _whole(status: int, text: str, body: Any) -> Iterator[str]:
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
    """A message of OpenAI's or Ollama's."""
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
        said = arguments if isinstance(arguments, str) else json.dumps(arguments)
        yield f"call {content['name']}({said})"


def _block(block: Mapping[str, Any]) -> str:
    """A content block of Anthropic's."""
    match block:
        case {"type": "thinking", "thinking": text}:
            return f"think {text}"
        case {"type": "redacted_thinking"}:
            return "think (redacted)"
        case {"type": "tool_use", "name": name, "input": arguments}:
            return f"call {name}({json.dumps(arguments)})"
        case _:
            return f"model {block['text']}"


def _streamed(response: httpx2.Response) -> Iterator[str]:
    """OpenAI's chunks: each kind of delta on a line of its own, its pieces parted by bars."""
    pieces: dict[tuple[str, int, int], list[str]] = {}
    end = "error the stream stops without its end"
    try:
        for line in response.iter_lines():
            if line == "data: [DONE]":
                end = ""
            elif line.startswith("data: "):
                _hear(json.loads(line.removeprefix("data: ")), pieces)
    except httpx2.RemoteProtocolError:
        end = BROKEN
    except json.JSONDecodeError:
        end = "error a chunk cannot be read"
    except _Told as error:
        end = f"error {error}"
    for (kind, _, _), said in pieces.items():
        name, *arguments = said
        yield (
            f"call {name}({'|'.join(arguments)})" if kind == "call" else f"{kind} {'|'.join(said)}"
        )
    if end:
        yield end


class _Told(Exception):
    """An error that the stream itself tells."""


def _hear(chunk: Any, pieces: dict[tuple[str, int, int], list[str]]) -> None:
    """Put a chunk's deltas with those of their kind, choice and call."""
    if "error" in chunk:
        raise _Told(chunk["error"]["message"])
    for choice in chunk["choices"]:
        delta, number = choice["delta"], choice["index"]
        for kind, key in (("think", "reasoning"), ("stream", "content"), ("refuse", "refusal")):
            if delta.get(key):
                pieces.setdefault((kind, number, 0), []).append(delta[key])
        for call in delta.get("tool_calls") or ():
            said = pieces.setdefault(("call", number, call["index"]), [])
            content = call.get("custom") or call["function"]
            said += [text for text in content.values() if text]
