"""Anthropic's client in the matrix."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic

from tests.sdk.matrix.matrix_client import (
    NO_TLS,
    TIMEOUT_SECONDS,
    TRANSPORT_ERRORS,
    MatrixClient,
    Prompt,
    named_events,
)
from tests.sdk.matrix.matrix_messages import Failure, ResponseCollector, Usage
from tests.support.live_server import Live

_FINISH_REASONS = {
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
        timeout=TIMEOUT_SECONDS,
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
        case _ if isinstance(error, TRANSPORT_ERRORS):
            return Failure("connection")
    raise error


def _anthropic_usage(start_usage: Any, end_usage: Any) -> Usage:
    cached = start_usage.cache_read_input_tokens or 0
    details = getattr(end_usage, "output_tokens_details", None)
    thinking = details.thinking_tokens if details else 0
    return Usage(start_usage.input_tokens + cached, end_usage.output_tokens, thinking, cached)


def _anthropic_request(prompt: Prompt) -> Any:
    return {"model": "claude-sonnet-5-5", "max_tokens": 99, "messages": prompt.messages}


def _create_message(live: Live, prompt: Prompt, collector: ResponseCollector) -> None:
    with _anthropic(live) as client:
        message = client.messages.create(**_anthropic_request(prompt))
    for block in message.content:
        match block.type:
            case "text":
                collector.add_text(block.text)
            case "thinking":
                collector.add_reasoning(block.thinking, signature=block.signature or None)
            case "redacted_thinking":
                collector.add_reasoning("", redacted=block.data)
            case "tool_use":
                collector.add_call(block.id, block.input, name=block.name, id=block.id)
    collector.set_finish(_FINISH_REASONS[message.stop_reason], stop=message.stop_sequence)
    collector.usage = _anthropic_usage(message.usage, message.usage)


def _stream_message(live: Live, prompt: Prompt, collector: ResponseCollector) -> None:
    start_usage: Any = None
    with _anthropic(live) as client:
        for event in client.messages.create(**_anthropic_request(prompt), stream=True):
            match event.type:
                case "message_start":
                    start_usage = event.message.usage
                case "content_block_start" if event.content_block.type == "tool_use":
                    block = event.content_block
                    collector.add_call(event.index, "", name=block.name, id=block.id)
                case "content_block_start" if event.content_block.type == "redacted_thinking":
                    collector.add_reasoning("", redacted=event.content_block.data)
                case "content_block_delta":
                    _collect_delta(event, collector)
                case "message_delta":
                    collector.set_finish(
                        _FINISH_REASONS[event.delta.stop_reason], stop=event.delta.stop_sequence
                    )
                    collector.usage = _anthropic_usage(start_usage, event.usage)


def _collect_delta(event: Any, collector: ResponseCollector) -> None:
    delta = event.delta
    match delta.type:
        case "text_delta":
            collector.add_text(delta.text)
        case "thinking_delta":
            collector.add_reasoning(delta.thinking)
        case "signature_delta":
            collector.add_reasoning("", signature=delta.signature or None)
        case "input_json_delta":
            collector.add_call(event.index, delta.partial_json)


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


MESSAGES = MatrixClient(
    "anthropic",
    "/v1/messages",
    create=_create_message,
    stream=_stream_message,
    failure=_anthropic_failure,
    native_body=_message,
    native_stream=_message_events,
)
