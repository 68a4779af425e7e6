"""Anthropic's client in the matrix."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic

from tests.sdk.matrix.matrix_client import BROKEN, NO_TLS, PATIENCE, Asked, Client, named_events
from tests.sdk.matrix.matrix_said import Failure, Hearing, Usage
from tests.support.live_server import Live

_STOPPED = {
    "end_turn": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
    "stop_sequence": "stop_sequence",
}


@contextmanager
def _anthropic(live: Live) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(
        base_url=live.base_url,
        api_key=live.key,
        max_retries=0,
        timeout=PATIENCE,
        _strict_response_validation=True,
        http_client=anthropic.DefaultHttpxClient(verify=NO_TLS),
    ) as client:
        yield client


def _anthropic_failure(error: Exception) -> Failure:
    match error:
        case anthropic.APIStatusError(status_code=status):
            body: Any = error.body
            message = body["error"]["message"]
            if status == 200:
                return Failure("in the stream", message=message)
            wait = error.response.headers.get("retry-after")
            return Failure("status", status, message, int(wait) * 1000 if wait else None)
        case anthropic.APIConnectionError():
            return Failure("connection")
        case json.JSONDecodeError():
            return Failure("unreadable")
        case _ if isinstance(error, BROKEN):
            return Failure("connection")
    raise error


def _anthropic_usage(begun: Any, output: Any) -> Usage:
    cached = begun.cache_read_input_tokens or 0
    details = getattr(output, "output_tokens_details", None)
    thinking = details.thinking_tokens if details else 0
    return Usage(begun.input_tokens + cached, output.output_tokens, thinking, cached)


def _anthropic_asked(asked: Asked) -> Any:
    return {"model": "claude-sonnet-5-5", "max_tokens": 99, "messages": asked.messages}


def _anthropic_whole(live: Live, asked: Asked, hearing: Hearing) -> None:
    with _anthropic(live) as client:
        message = client.messages.create(**_anthropic_asked(asked))
    for block in message.content:
        match block.type:
            case "text":
                hearing.text(block.text)
            case "thinking":
                hearing.thought(block.thinking, signature=block.signature or None)
            case "redacted_thinking":
                hearing.thought("", redacted=block.data)
            case "tool_use":
                hearing.call(block.id, block.input, name=block.name, id=block.id)
    hearing.end(_STOPPED[message.stop_reason], stop=message.stop_sequence)
    hearing.usage = _anthropic_usage(message.usage, message.usage)


def _anthropic_stream(live: Live, asked: Asked, hearing: Hearing) -> None:
    begun: Any = None
    with _anthropic(live) as client:
        for event in client.messages.create(**_anthropic_asked(asked), stream=True):
            match event.type:
                case "message_start":
                    begun = event.message.usage
                case "content_block_start" if event.content_block.type == "tool_use":
                    block = event.content_block
                    hearing.call(event.index, "", name=block.name, id=block.id)
                case "content_block_start" if event.content_block.type == "redacted_thinking":
                    hearing.thought("", redacted=event.content_block.data)
                case "content_block_delta":
                    _anthropic_delta(event, hearing)
                case "message_delta":
                    hearing.end(_STOPPED[event.delta.stop_reason], stop=event.delta.stop_sequence)
                    hearing.usage = _anthropic_usage(begun, event.usage)


def _anthropic_delta(event: Any, hearing: Hearing) -> None:
    delta = event.delta
    match delta.type:
        case "text_delta":
            hearing.text(delta.text)
        case "thinking_delta":
            hearing.thought(delta.thinking)
        case "signature_delta":
            hearing.thought("", signature=delta.signature or None)
        case "input_json_delta":
            hearing.call(event.index, delta.partial_json)


def _message(text: str, **fields: Any) -> Any:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
        **fields,
    }


def _message_events(text: str) -> str:
    block = {"type": "text", "text": ""}
    ending = {"stop_reason": "end_turn", "stop_sequence": None}
    return named_events(
        {"type": "message_start", "message": _message("", content=[], stop_reason=None)},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": text},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    )


MESSAGES = Client(
    "anthropic",
    "/v1/messages",
    whole=_anthropic_whole,
    stream=_anthropic_stream,
    failure=_anthropic_failure,
    native=_message,
    native_stream=_message_events,
)
