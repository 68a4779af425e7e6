"""Ollama's client in the matrix: chat and generate."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ollama

from tests.sdk.matrix.matrix_client import (
    NO_TLS,
    TIMEOUT_SECONDS,
    TRANSPORT_ERRORS,
    MatrixClient,
    Prompt,
)
from tests.sdk.matrix.matrix_messages import Failure, ResponseCollector, Usage
from tests.support.live_server import Live


@contextmanager
def _ollama(live: Live) -> Iterator[ollama.Client]:
    headers = {"Authorization": f"Bearer {live.key}"}
    with ollama.Client(
        host=live.base_url, headers=headers, timeout=TIMEOUT_SECONDS, verify=NO_TLS
    ) as client:
        yield client


def _ollama_failure(error: Exception) -> Failure:
    match error:
        case ollama.ResponseError(status_code=-1):
            return Failure("in the stream", message=error.error)
        case ollama.ResponseError():
            return Failure("status", error.status_code, error.error)
        case json.JSONDecodeError():
            return Failure("unreadable")
        case _ if isinstance(error, TRANSPORT_ERRORS):
            return Failure("connection")
    raise error


def _collect_chat_line(line: Any, collector: ResponseCollector) -> None:
    message = line.message
    collector.add_reasoning(message.thinking)
    collector.add_text(message.content)
    for call in message.tool_calls or ():
        key = object()
        collector.add_call(key, dict(call.function.arguments), name=call.function.name)
    _collect_end(line, collector)


def _collect_generate_line(line: Any, collector: ResponseCollector) -> None:
    collector.add_reasoning(line.thinking)
    collector.add_text(line.response)
    _collect_end(line, collector)


def _collect_end(line: Any, collector: ResponseCollector) -> None:
    collector.set_finish(line.done_reason if line.done else None)
    if line.done:
        collector.usage = Usage(line.prompt_eval_count, line.eval_count)


def _create_chat(live: Live, prompt: Prompt, collector: ResponseCollector) -> None:
    with _ollama(live) as client:
        _collect_chat_line(client.chat(model="llama3.2", messages=prompt.messages), collector)


def _stream_chat(live: Live, prompt: Prompt, collector: ResponseCollector) -> None:
    with _ollama(live) as client:
        for line in client.chat(model="llama3.2", messages=prompt.messages, stream=True):
            _collect_chat_line(line, collector)


def _create_completion(live: Live, prompt: Prompt, collector: ResponseCollector) -> None:
    with _ollama(live) as client:
        _collect_generate_line(client.generate(**_generate_fields(client, prompt)), collector)


def _stream_completion(live: Live, prompt: Prompt, collector: ResponseCollector) -> None:
    with _ollama(live) as client:
        for line in client.generate(**_generate_fields(client, prompt), stream=True):
            _collect_generate_line(line, collector)


def _generate_fields(client: ollama.Client, prompt: Prompt) -> Any:
    """Return the fields of a request; earlier prompts are sent first to get their context."""
    fields: dict[str, Any] = {"model": "llama3.2"}
    for role, text in prompt.history:
        if role == "user":
            fields["context"] = client.generate(**fields, prompt=text).context
    return {**fields, "prompt": prompt.text}


def _line(**fields: Any) -> Any:
    counts = {"prompt_eval_count": 1, "eval_count": 1}
    return {"model": "m", **fields, "done": True, "done_reason": "stop", **counts}


def _chat_response(text: str) -> Any:
    return _line(message={"role": "assistant", "content": text})


def _generate_response(text: str) -> Any:
    return _line(response=text)


CHAT = MatrixClient(
    "ollama",
    "/api/chat",
    create=_create_chat,
    stream=_stream_chat,
    failure=_ollama_failure,
    native_body=_chat_response,
    native_stream=lambda text: json.dumps(_chat_response(text)) + "\n",
    stream_type="application/x-ndjson",
)
GENERATE = MatrixClient(
    "ollama",
    "/api/generate",
    create=_create_completion,
    stream=_stream_completion,
    failure=_ollama_failure,
    native_body=_generate_response,
    native_stream=lambda text: json.dumps(_generate_response(text)) + "\n",
    stream_type="application/x-ndjson",
)
