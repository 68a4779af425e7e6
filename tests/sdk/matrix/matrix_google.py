"""Google's client in the matrix."""

import json
from functools import cache
from typing import Any

import httpx2
from google import genai
from google.genai import errors as google_errors
from google.genai import types as google

from tests.sdk.matrix.matrix_client import BROKEN, NO_TLS, PATIENCE, Asked, Client, events
from tests.sdk.matrix.matrix_said import Failure, Hearing, Usage
from tests.support.live_server import Live

_FINISHED = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}


@cache
def _google_transport() -> httpx2.Client:
    return httpx2.Client(verify=NO_TLS)


def _google(live: Live) -> genai.Client:
    options = google.HttpOptions(
        base_url=live.base_url, timeout=PATIENCE * 1000, httpx_client=_google_transport()
    )
    return genai.Client(api_key=live.key, http_options=options)


def _google_failure(error: Exception) -> Failure:
    match error:
        case google_errors.APIError():
            return _google_status(error)
        case google_errors.UnknownApiResponseError() | json.JSONDecodeError():
            return Failure("unreadable")
        case _ if isinstance(error, BROKEN):
            return Failure("connection")
    raise error


def _google_status(error: google_errors.APIError) -> Failure:
    # An error inside a stream has no response.
    if error.response is None or error.response.status_code == 200:
        return Failure("in the stream", message=error.message)
    details = error.details.get("error", {}).get("details", [])
    waits = [float(d["retryDelay"].removesuffix("s")) for d in details if "retryDelay" in d]
    return Failure("status", error.code, error.message, round(waits[0] * 1000) if waits else None)


def _google_asked(asked: Asked) -> Any:
    roles = {"user": "user", "assistant": "model"}
    contents = [{"role": roles[role], "parts": [{"text": text}]} for role, text in asked.turns]
    return {"model": "gemini-2.5-flash", "contents": contents}


def _google_heard(answer: Any, hearing: Hearing) -> None:
    for candidate in answer.candidates or ():
        at = candidate.index or 0
        for number, part in enumerate((candidate.content and candidate.content.parts) or ()):
            if part.function_call:
                call = part.function_call
                key = (len(hearing.pieces), number, call.id)
                hearing.call(key, dict(call.args or {}), at, name=call.name, id=call.id or "")
            elif part.thought:
                signature = part.thought_signature and part.thought_signature.decode()
                hearing.thought(part.text, at, signature=signature)
            else:
                hearing.text(part.text, at)
        if candidate.finish_reason:
            hearing.end(_FINISHED[candidate.finish_reason.value], at)
    if answer.prompt_feedback and answer.prompt_feedback.block_reason:
        hearing.end("content_filter")
    usage = answer.usage_metadata
    if usage is not None:
        thoughts = usage.thoughts_token_count or 0
        hearing.usage = Usage(
            usage.prompt_token_count,
            (usage.candidates_token_count or 0) + thoughts,
            thoughts,
            usage.cached_content_token_count or 0,
        )


def _google_whole(live: Live, asked: Asked, hearing: Hearing) -> None:
    _google_heard(_google(live).models.generate_content(**_google_asked(asked)), hearing)


def _google_stream(live: Live, asked: Asked, hearing: Hearing) -> None:
    for chunk in _google(live).models.generate_content_stream(**_google_asked(asked)):
        _google_heard(chunk, hearing)


def _content(text: str) -> Any:
    content = {"role": "model", "parts": [{"text": text}]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage}


GENERATE_CONTENT = Client(
    "gemini",
    "/v1beta/models/{model}:generateContent",
    whole=_google_whole,
    stream=_google_stream,
    failure=_google_failure,
    native=_content,
    native_stream=lambda text: events(_content(text)),
)
