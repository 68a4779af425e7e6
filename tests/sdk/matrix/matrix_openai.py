"""OpenAI's client in the matrix: chat, the older completions, and Responses."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai

from tests.sdk.matrix.matrix_client import NO_TLS, PATIENCE, Asked, Client, events, named_events
from tests.sdk.matrix.matrix_said import Failure, Hearing, Usage
from tests.support.live_server import Live

INSTRUCT = "gpt-3.5-turbo-instruct"
COUNTS = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
ABOUT = {"id": "x-1", "created": 1, "model": "m"}


class InStream(Exception):
    """An error that stands in a stream of events and is handed on as one."""


@contextmanager
def _openai(live: Live, *, strict: bool = True) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=live.openai_base_url,
        api_key=live.key,
        max_retries=0,
        timeout=PATIENCE,
        _strict_response_validation=strict,
        http_client=openai.DefaultHttpx2Client(verify=NO_TLS),
    ) as client:
        yield client


def _openai_failure(error: Exception) -> Failure:
    match error:
        case openai.APIStatusError():
            body = error.body if isinstance(error.body, dict) else {}
            wait = error.response.headers.get("retry-after-ms")
            told = int(wait) if wait else None
            return Failure("status", error.status_code, body.get("message"), told)
        case openai.APIConnectionError():
            return Failure("connection")
        case InStream():
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


def _chat_whole(live: Live, asked: Asked, hearing: Hearing) -> None:
    with _openai(live) as client:
        answer = client.chat.completions.create(model="gpt-4o", messages=asked.messages)
    for choice in answer.choices:
        message, at = choice.message, choice.index
        hearing.thought((message.model_extra or {}).get("reasoning"), at)
        hearing.text(message.content, at)
        for call in message.tool_calls or ():
            assert call.type == "function"
            hearing.call(call.id, call.function.arguments, at, name=call.function.name, id=call.id)
        hearing.refusal(message.refusal, at)
        hearing.end(choice.finish_reason, at)
    assert answer.usage is not None
    hearing.usage = _openai_usage(answer.usage)


def _chat_stream(live: Live, asked: Asked, hearing: Hearing) -> None:
    with _openai(live) as client:
        for chunk in client.chat.completions.create(
            model="gpt-4o",
            messages=asked.messages,
            stream=True,
            stream_options={"include_usage": True},
        ):
            if chunk.usage:
                hearing.usage = _openai_usage(chunk.usage)
            for choice in chunk.choices:
                delta, at = choice.delta, choice.index
                hearing.thought((delta.model_extra or {}).get("reasoning"), at)
                hearing.text(delta.content, at)
                hearing.refusal(delta.refusal, at)
                for call in delta.tool_calls or ():
                    assert call.function is not None
                    hearing.call(
                        call.index,
                        call.function.arguments or "",
                        at,
                        name=call.function.name or "",
                        id=call.id or "",
                    )
                hearing.end(choice.finish_reason, at)


def _completions_whole(live: Live, asked: Asked, hearing: Hearing) -> None:
    with _openai(live) as client:
        answer = client.completions.create(model=INSTRUCT, prompt=asked.said)
    for choice in answer.choices:
        hearing.text(choice.text, choice.index)
        hearing.end(choice.finish_reason, choice.index)
    assert answer.usage is not None
    hearing.usage = _openai_usage(answer.usage)


def _completions_stream(live: Live, asked: Asked, hearing: Hearing) -> None:
    # The client's type requires a finish reason in each chunk, but the API sends chunks without.
    with _openai(live, strict=False) as client:
        for chunk in client.completions.create(
            model=INSTRUCT,
            prompt=asked.said,
            stream=True,
            stream_options={"include_usage": True},
        ):
            if chunk.usage:
                hearing.usage = _openai_usage(chunk.usage)
            for choice in chunk.choices:
                hearing.text(choice.text, choice.index)
                hearing.end(choice.finish_reason, choice.index)


def _responses_usage(usage: Any) -> Usage:
    inside, outside = usage.input_tokens_details, usage.output_tokens_details
    return Usage(
        usage.input_tokens, usage.output_tokens, outside.reasoning_tokens, inside.cached_tokens
    )


def _responses_end(response: Any, hearing: Hearing) -> None:
    reasons = {"max_output_tokens": "length", None: "stop"}
    details = response.incomplete_details
    reason = details.reason if details else None
    hearing.end(reasons.get(reason, reason))
    hearing.usage = _responses_usage(response.usage)


def _scripted(sealed: str) -> str | None:
    """What a script sealed thoughts with: the API seals all of them, so the rest is made up."""
    return None if sealed.startswith("gAAAAAB") else sealed


def _responses_whole(live: Live, asked: Asked, hearing: Hearing) -> None:
    with _openai(live) as client:
        response = client.responses.create(model="gpt-4o", input=asked.messages)
    for item in response.output:
        match item.type:
            case "reasoning":
                for summary in item.summary:
                    hearing.thought(summary.text)
                hearing.thought("", signature=_scripted(item.encrypted_content))
            case "message":
                for content in item.content:
                    if content.type == "output_text":
                        hearing.text(content.text)
                    else:
                        hearing.refusal(content.refusal)
            case "function_call":
                hearing.call(item.id, item.arguments, name=item.name, id=item.call_id)
    _responses_end(response, hearing)


def _responses_stream(live: Live, asked: Asked, hearing: Hearing) -> None:
    with _openai(live) as client:
        for event in client.responses.create(model="gpt-4o", input=asked.messages, stream=True):
            match event.type:
                case "response.output_item.added" if event.item.type == "function_call":
                    item = event.item
                    hearing.call(item.id, "", name=item.name, id=item.call_id)
                case "response.function_call_arguments.delta":
                    hearing.call(event.item_id, event.delta)
                case "response.output_text.delta":
                    hearing.text(event.delta)
                case "response.refusal.delta":
                    hearing.refusal(event.delta)
                case "response.reasoning_summary_text.delta":
                    hearing.thought(event.delta)
                case "response.output_item.done" if event.item.type == "reasoning":
                    hearing.thought("", signature=_scripted(event.item.encrypted_content))
                case "response.completed" | "response.incomplete":
                    _responses_end(event.response, hearing)
                case "error":
                    raise InStream(event.message)


def _chat(text: str) -> Any:
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    details = {"prompt_tokens_details": {}, "completion_tokens_details": {}}
    usage = {**COUNTS, **details}
    return {**ABOUT, "object": "chat.completion", "choices": [choice], "usage": usage}


def _chat_events(text: str) -> str:
    def chunk(delta: Any, reason: str | None) -> Any:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**ABOUT, "object": "chat.completion.chunk", "choices": [choice]}

    said = {"role": "assistant", "content": text}
    return events(chunk(said, None), chunk({}, "stop"), end="data: [DONE]\n\n")


def _completion(text: str, reason: str | None = "stop") -> Any:
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": reason}
    details = {"prompt_tokens_details": {}, "completion_tokens_details": {}}
    usage = {**COUNTS, **details}
    return {**ABOUT, "object": "text_completion", "choices": [choice], "usage": usage}


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


CHAT = Client(
    "openai",
    "/v1/chat/completions",
    whole=_chat_whole,
    stream=_chat_stream,
    failure=_openai_failure,
    native=_chat,
    native_stream=_chat_events,
)
COMPLETIONS = Client(
    "openai",
    "/v1/completions",
    whole=_completions_whole,
    stream=_completions_stream,
    failure=_openai_failure,
    native=_completion,
    native_stream=_completion_events,
)
RESPONSES = Client(
    "openai",
    "/v1/responses",
    whole=_responses_whole,
    stream=_responses_stream,
    failure=_openai_failure,
    native=_response,
    native_stream=_response_events,
)
