"""Ollama's client in the matrix: chat and generate."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ollama

from tests.sdk.matrix.matrix_client import BROKEN, NO_TLS, PATIENCE, Asked, Client
from tests.sdk.matrix.matrix_said import Failure, Hearing, Usage
from tests.support.live_server import Live


@contextmanager
def _ollama(live: Live) -> Iterator[ollama.Client]:
    headers = {"Authorization": f"Bearer {live.key}"}
    with ollama.Client(
        host=live.base_url, headers=headers, timeout=PATIENCE, verify=NO_TLS
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
        case _ if isinstance(error, BROKEN):
            return Failure("connection")
    raise error


def _ollama_heard(line: Any, hearing: Hearing) -> None:
    message = line.message
    hearing.thought(message.thinking)
    hearing.text(message.content)
    for call in message.tool_calls or ():
        key = object()
        hearing.call(key, dict(call.function.arguments), name=call.function.name)
    _ollama_end(line, hearing)


def _ollama_generated(line: Any, hearing: Hearing) -> None:
    hearing.thought(line.thinking)
    hearing.text(line.response)
    _ollama_end(line, hearing)


def _ollama_end(line: Any, hearing: Hearing) -> None:
    hearing.end(line.done_reason if line.done else None)
    if line.done:
        hearing.usage = Usage(line.prompt_eval_count, line.eval_count)


def _ollama_whole(live: Live, asked: Asked, hearing: Hearing) -> None:
    with _ollama(live) as client:
        _ollama_heard(client.chat(model="llama3.2", messages=asked.messages), hearing)


def _ollama_stream(live: Live, asked: Asked, hearing: Hearing) -> None:
    with _ollama(live) as client:
        for line in client.chat(model="llama3.2", messages=asked.messages, stream=True):
            _ollama_heard(line, hearing)


def _generate_whole(live: Live, asked: Asked, hearing: Hearing) -> None:
    with _ollama(live) as client:
        _ollama_generated(client.generate(**_prompt(client, asked)), hearing)


def _generate_stream(live: Live, asked: Asked, hearing: Hearing) -> None:
    with _ollama(live) as client:
        for line in client.generate(**_prompt(client, asked), stream=True):
            _ollama_generated(line, hearing)


def _prompt(client: ollama.Client, asked: Asked) -> Any:
    """A prompt, after the earlier ones were asked: only their answers know the conversation."""
    fields: dict[str, Any] = {"model": "llama3.2"}
    for role, text in asked.history:
        if role == "user":
            fields["context"] = client.generate(**fields, prompt=text).context
    return {**fields, "prompt": asked.said}


def _line(**said: Any) -> Any:
    counts = {"prompt_eval_count": 1, "eval_count": 1}
    return {"model": "m", **said, "done": True, "done_reason": "stop", **counts}


def _chat(text: str) -> Any:
    return _line(message={"role": "assistant", "content": text})


def _generated(text: str) -> Any:
    return _line(response=text)


CHAT = Client(
    "ollama",
    "/api/chat",
    whole=_ollama_whole,
    stream=_ollama_stream,
    failure=_ollama_failure,
    native=_chat,
    native_stream=lambda text: json.dumps(_chat(text)) + "\n",
    stream_type="application/x-ndjson",
)
GENERATE = Client(
    "ollama",
    "/api/generate",
    whole=_generate_whole,
    stream=_generate_stream,
    failure=_ollama_failure,
    native=_generated,
    native_stream=lambda text: json.dumps(_generated(text)) + "\n",
    stream_type="application/x-ndjson",
)
