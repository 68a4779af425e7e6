"""OpenAI's client in the matrix: chat, the older completions, and Responses."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai

from tests.sdk.matrix.matrix_client import (
    NO_TLS,
    TIMEOUT_SECONDS,
    MatrixClient,
    Prompt,
    events,
    named_events,
)
from tests.sdk.matrix.matrix_messages import Failure, ResponseCollector, Usage
from tests.support.live_server import Live

INSTRUCT = "gpt-3.5-turbo-instruct"
COUNTS = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
COMMON_FIELDS = {"id": "x-1", "created": 1, "model": "m"}


class StreamError(Exception):
    """An error event of a stream, which the client returns instead of raising it."""


@contextmanager
def _openai(live: Live, *, strict: bool = True) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=live.openai_base_url,
        api_key=live.key,
        max_retries=0,
        timeout=TIMEOUT_SECONDS,
        _strict_response_validation=strict,
        http_client=openai.DefaultHttpx2Client(verify=NO_TLS),
    ) as client:
        yield client


def _openai_failure(error: Exception) -> Failure:
    match error:
        case openai.APIStatusError():
            body = error.body if isinstance(error.body, dict) else {}
            header = error.response.headers.get("retry-after-ms")
            retry_ms = int(header) if header else None
            return Failure("status", error.status_code, body.get("message"), retry_ms)
        case openai.APIConnectionError():
            return Failure("connection")
        case StreamError():
            return Failure("in the stream", message=str(error))
        case openai.APIError():
            return Failure("in the stream", message=error.message)
        case json.JSONDecodeError():
            return Failure("unreadable")
    raise error


def _openai_usage(usage: Any) -> Usage:
    inside, outside = usage.prompt_tokens_details, usage.completion_tokens_details
    return Usage(
        usage.prompt_tokens,
        usage.completion_tokens,
        outside.reasoning_tokens,
        inside.cached_tokens,
    )


def _create_chat(live: Live, prompt: Prompt, collector: ResponseCollector) -> None:
    with _openai(live) as client:
        answer = client.chat.completions.create(model="gpt-4o", messages=prompt.messages)
    for choice in answer.choices:
        message, index = choice.message, choice.index
        collector.add_reasoning((message.model_extra or {}).get("reasoning"), index)
        collector.add_text(message.content, index)
        for call in message.tool_calls or ():
            assert call.type == "function"
            collector.add_call(
                call.id, call.function.arguments, index, name=call.function.name, id=call.id
            )
        collector.add_refusal(message.refusal, index)
        collector.set_finish(choice.finish_reason, index)
    assert answer.usage is not None
    collector.usage = _openai_usage(answer.usage)


def _stream_chat(live: Live, prompt: Prompt, collector: ResponseCollector) -> None:
    with _openai(live) as client:
        for chunk in client.chat.completions.create(
            model="gpt-4o",
            messages=prompt.messages,
            stream=True,
            stream_options={"include_usage": True},
        ):
            if chunk.usage:
                collector.usage = _openai_usage(chunk.usage)
            for choice in chunk.choices:
                delta, index = choice.delta, choice.index
                collector.add_reasoning((delta.model_extra or {}).get("reasoning"), index)
                collector.add_text(delta.content, index)
                collector.add_refusal(delta.refusal, index)
                for call in delta.tool_calls or ():
                    assert call.function is not None
                    collector.add_call(
                        call.index,
                        call.function.arguments or "",
                        index,
                        name=call.function.name or "",
                        id=call.id or "",
                    )
                collector.set_finish(choice.finish_reason, index)


def _create_completion(live: Live, prompt: Prompt, collector: ResponseCollector) -> None:
    with _openai(live) as client:
        answer = client.completions.create(model=INSTRUCT, prompt=prompt.text)
    for choice in answer.choices:
        collector.add_text(choice.text, choice.index)
        collector.set_finish(choice.finish_reason, choice.index)
    assert answer.usage is not None
    collector.usage = _openai_usage(answer.usage)


def _stream_completion(live: Live, prompt: Prompt, collector: ResponseCollector) -> None:
    # The client's type requires a finish reason in each chunk, but the API sends chunks without.
    with _openai(live, strict=False) as client:
        for chunk in client.completions.create(
            model=INSTRUCT,
            prompt=prompt.text,
            stream=True,
            stream_options={"include_usage": True},
        ):
            if chunk.usage:
                collector.usage = _openai_usage(chunk.usage)
            for choice in chunk.choices:
                collector.add_text(choice.text, choice.index)
                collector.set_finish(choice.finish_reason, choice.index)


def _responses_usage(usage: Any) -> Usage:
    inside, outside = usage.input_tokens_details, usage.output_tokens_details
    return Usage(
        usage.input_tokens, usage.output_tokens, outside.reasoning_tokens, inside.cached_tokens
    )


def _collect_end(response: Any, collector: ResponseCollector) -> None:
    reasons = {"max_output_tokens": "length", None: "stop"}
    details = response.incomplete_details
    reason = details.reason if details else None
    collector.set_finish(reasons.get(reason, reason))
    collector.usage = _responses_usage(response.usage)


def _scripted_signature(sealed: str) -> str | None:
    """Return the signature of reasoning, or None if the server generated it."""
    return None if sealed.startswith("gAAAAAB") else sealed


def _create_response(live: Live, prompt: Prompt, collector: ResponseCollector) -> None:
    with _openai(live) as client:
        response = client.responses.create(model="gpt-4o", input=prompt.messages)
    for item in response.output:
        match item.type:
            case "reasoning":
                for summary in item.summary:
                    collector.add_reasoning(summary.text)
                collector.add_reasoning("", signature=_scripted_signature(item.encrypted_content))
            case "message":
                for content in item.content:
                    if content.type == "output_text":
                        collector.add_text(content.text)
                    else:
                        collector.add_refusal(content.refusal)
            case "function_call":
                collector.add_call(item.id, item.arguments, name=item.name, id=item.call_id)
    _collect_end(response, collector)


def _stream_response(live: Live, prompt: Prompt, collector: ResponseCollector) -> None:
    with _openai(live) as client:
        for event in client.responses.create(model="gpt-4o", input=prompt.messages, stream=True):
            match event.type:
                case "response.output_item.added" if event.item.type == "function_call":
                    item = event.item
                    collector.add_call(item.id, "", name=item.name, id=item.call_id)
                case "response.function_call_arguments.delta":
                    collector.add_call(event.item_id, event.delta)
                case "response.output_text.delta":
                    collector.add_text(event.delta)
                case "response.refusal.delta":
                    collector.add_refusal(event.delta)
                case "response.reasoning_summary_text.delta":
                    collector.add_reasoning(event.delta)
                case "response.output_item.done" if event.item.type == "reasoning":
                    collector.add_reasoning(
                        "", signature=_scripted_signature(event.item.encrypted_content)
                    )
                case "response.completed" | "response.incomplete":
                    _collect_end(event.response, collector)
                case "error":
                    raise StreamError(event.message)


def _chat(text: str) -> Any:
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    details = {"prompt_tokens_details": {}, "completion_tokens_details": {}}
    usage = {**COUNTS, **details}
    return {**COMMON_FIELDS, "object": "chat.completion", "choices": [choice], "usage": usage}


def _chat_events(text: str) -> str:
    def chunk(delta: Any, reason: str | None) -> Any:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**COMMON_FIELDS, "object": "chat.completion.chunk", "choices": [choice]}

    delta = {"role": "assistant", "content": text}
    return events(chunk(delta, None), chunk({}, "stop"), end="data: [DONE]\n\n")


def _completion(text: str, reason: str | None = "stop") -> Any:
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": reason}
    details = {"prompt_tokens_details": {}, "completion_tokens_details": {}}
    usage = {**COUNTS, **details}
    return {**COMMON_FIELDS, "object": "text_completion", "choices": [choice], "usage": usage}


def _completion_events(text: str) -> str:
    return events(_completion(text, None), _completion(""), end="data: [DONE]\n\n")


def _response(text: str, **fields: Any) -> Any:
    content = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant"}
    details = {
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, **details}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [{**message, "content": [content]}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
        **fields,
    }


def _response_events(text: str) -> str:
    delta = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text}
    return named_events(
        {
            "type": "response.created",
            "sequence_number": 0,
            "response": _response("", status="in_progress", output=[], usage=None),
        },
        {"type": "response.output_text.delta", "sequence_number": 1, "logprobs": [], **delta},
        {"type": "response.completed", "sequence_number": 2, "response": _response(text)},
    )


CHAT = MatrixClient(
    "openai",
    "/v1/chat/completions",
    create=_create_chat,
    stream=_stream_chat,
    failure=_openai_failure,
    native_body=_chat,
    native_stream=_chat_events,
)
COMPLETIONS = MatrixClient(
    "openai",
    "/v1/completions",
    create=_create_completion,
    stream=_stream_completion,
    failure=_openai_failure,
    native_body=_completion,
    native_stream=_completion_events,
)
RESPONSES = MatrixClient(
    "openai",
    "/v1/responses",
    create=_create_response,
    stream=_stream_response,
    failure=_openai_failure,
    native_body=_response,
    native_stream=_response_events,
)
