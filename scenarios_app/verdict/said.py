"""What an answer said, read off the bytes that were sent of it, whichever provider's they are."""

import json
from collections.abc import Iterator
from typing import Any

_DATA = "data:"


def said(body: str) -> str:
    """The text of an answer's first choice, whole or as far as it was streamed. Thinking and tool
    calls are no text."""
    return "".join(piece for event in _events(body) for piece in _pieces(event))


def _events(body: str) -> Iterator[Any]:
    """The JSON values of a body: itself, or those of its events or lines that are whole."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        pass
    else:
        # A list is what Gemini streams where no events were asked for.
        yield from value if isinstance(value, list) else [value]
        return
    for line in body.splitlines():
        try:
            yield json.loads(line.removeprefix(_DATA))
        except (ValueError, RecursionError):
            continue


def _pieces(event: Any) -> Iterator[str]:
    match event:
        case {"choices": [{"index": int(index)}, *_]} if index:
            return
        case {"choices": [{"delta": {"content": str(text)}}, *_]}:
            yield text
        case {"choices": [{"message": {"content": str(text)}}, *_]}:
            yield text
        case {"choices": [{"text": str(text)}, *_]}:
            yield text
        case {"type": "response.output_text.delta", "delta": str(text)}:
            yield text
        case {"object": "response", "output": list(items)}:
            yield from (text for item in items for text in _texts(item))
        case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
            yield text
        case {"type": "message", "content": list()}:
            yield from _texts(event)
        case {"candidates": [{"content": {"parts": list(parts)}}, *_]}:
            yield from (_text_of(part) for part in parts)
        case {"message": {"content": str(text)}} | {"response": str(text)}:
            yield text


def _texts(message: Any) -> Iterator[str]:
    match message:
        case {"type": "message", "content": list(parts)}:
            yield from (_text_of(part) for part in parts)


def _text_of(part: Any) -> str:
    match part:
        case {"thought": True}:
            return ""
        case {"text": str(text)}:
            return text
        case _:
            return ""
