"""Google's client in the matrix."""

import json
from functools import cache
from typing import Any

import httpx2
from google import genai
from google.genai import errors as google_errors
from google.genai import types as google

from tests.sdk.matrix.matrix_client import (
    NO_TLS,
    TIMEOUT_SECONDS,
    TRANSPORT_ERRORS,
    MatrixClient,
    Prompt,
    events,
)
from tests.sdk.matrix.matrix_messages import Failure, ResponseCollector, Usage
from tests.support.live_server import Live

_FINISH_REASONS = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}


@cache
def _google_transport() -> httpx2.Client:
    return httpx2.Client(verify=NO_TLS)


def _google(live: Live) -> genai.Client:
    options = google.HttpOptions(
        base_url=live.base_url, timeout=TIMEOUT_SECONDS * 1000, httpx_client=_google_transport()
    )
    return genai.Client(api_key=live.key, http_options=options)


def _google_failure(error: Exception) -> Failure:
    match error:
        case google_errors.APIError():
            return _google_status(error)
        case google_errors.UnknownApiResponseError() | json.JSONDecodeError():
            return Failure("unreadable")
        case _ if isinstance(error, TRANSPORT_ERRORS):
            return Failure("connection")
    raise error


def _google_status(error: google_errors.APIError) -> Failure:
    # An error inside a stream has no response.
    if error.response is None or error.response.status_code == 200:
        return Failure("in the stream", message=error.message)
    details = error.details.get("error", {}).get("details", [])
    waits = [float(d["retryDelay"].removesuffix("s")) for d in details if "retryDelay" in d]
    return Failure("status", error.code, error.message, round(waits[0] * 1000) if waits else None)


def _google_request(prompt: Prompt) -> Any:
    roles = {"user": "user", "assistant": "model"}
    contents = [{"role": roles[role], "parts": [{"text": text}]} for role, text in prompt.turns]
    return {"model": "gemini-2.5-flash", "contents": contents}


def _collect_response(answer: Any, collector: ResponseCollector) -> None:
    for candidate in answer.candidates or ():
        choice = candidate.index or 0
        for number, part in enumerate((candidate.content and candidate.content.parts) or ()):
            if part.function_call:
                call = part.function_call
                key = (len(collector.pieces), number, call.id)
                collector.add_call(
                    key, dict(call.args or {}), choice, name=call.name, id=call.id or ""
                )
            elif part.thought:
                signature = part.thought_signature and part.thought_signature.decode()
                collector.add_reasoning(part.text, choice, signature=signature)
            else:
                collector.add_text(part.text, choice)
        if candidate.finish_reason:
            collector.set_finish(_FINISH_REASONS[candidate.finish_reason.value], choice)
    if answer.prompt_feedback and answer.prompt_feedback.block_reason:
        collector.set_finish("content_filter")
    usage = answer.usage_metadata
    if usage is not None:
        thoughts = usage.thoughts_token_count or 0
        collector.usage = Usage(
            usage.prompt_token_count,
            (usage.candidates_token_count or 0) + thoughts,
            thoughts,
            usage.cached_content_token_count or 0,
        )


def _generate_content(live: Live, prompt: Prompt, collector: ResponseCollector) -> None:
    _collect_response(_google(live).models.generate_content(**_google_request(prompt)), collector)


def _stream_content(live: Live, prompt: Prompt, collector: ResponseCollector) -> None:
    for chunk in _google(live).models.generate_content_stream(**_google_request(prompt)):
        _collect_response(chunk, collector)


def _content(text: str) -> Any:
    content = {"role": "model", "parts": [{"text": text}]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage}


GENERATE_CONTENT = MatrixClient(
    "gemini",
    "/v1beta/models/{model}:generateContent",
    create=_generate_content,
    stream=_stream_content,
    failure=_google_failure,
    native_body=_content,
    native_stream=lambda text: events(_content(text)),
)
