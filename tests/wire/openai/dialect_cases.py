"""Read requests and render responses in each dialect of OpenAI's API."""

import json
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse
from scenarios_app.engine.parts import (
    AnswerPart,
    ToolCallPart,
)
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.registry import Target, find_target
from tests.wire.openai.openai_cases import HELLO, answer, make_call
from tests.wire.stream_encoding import encode_stream

DOCS = Path(__file__).resolve().parents[3] / "docs" / "wires.md"
HEX = "0123456789abcdef0123456789abcdef"
UUID = "01234567-89ab-cdef-0123-456789abcdef"
CALL = ToolCallPart("call_1", "f", '{"a":1}')
KEY = {"authorization": "Bearer k"}
PATHS = {
    "openai": "/v1/chat/completions",
    "azure": "/openai/deployments/d/chat/completions",
    "openrouter": "/openrouter/api/v1/chat/completions",
    "vllm": "/vllm/v1/chat/completions",
    "deepseek": "/deepseek/chat/completions",
    "groq": "/groq/openai/v1/chat/completions",
    "mistral": "/mistral/v1/chat/completions",
    "xai": "/xai/v1/chat/completions",
    "ollama": "/v1/chat/completions",
}


def resolve_target(path: str, **headers: str) -> Target:
    matched_target = find_target(make_call(path=path, headers={**KEY, **headers}))
    assert matched_target is not None
    return matched_target


def target_of(name: str) -> Target:
    """Return the target of a chat request in a dialect."""
    return resolve_target(PATHS[name], host="127.0.0.1:11434" if name == "ollama" else "localhost")


def read_request(name: str, *messages: Any, model: str = "m", **fields: Any) -> CanonicalRequest:
    target = target_of(name)
    assert target.endpoint is not None
    body = {"model": model, "messages": list(messages) or [HELLO], **fields}
    node = read_body(msgspec.json.encode(body), Limits())
    call = make_call(path=PATHS[name])
    return target.endpoint.read(call, target.endpoint, target.params, node)


def make_response(*parts: AnswerPart, model: str = "m", spoken: str = "") -> CanonicalResponse:
    base_response = answer(parts, finish="tool_calls" if CALL in parts else "stop")
    return replace(base_response, id=HEX, model=model, spoken=spoken)


def render_body(name: str, *parts: AnswerPart, model: str = "m") -> dict[str, Any]:
    endpoint = target_of(name).endpoint
    assert endpoint is not None and endpoint.render is not None
    body: dict[str, Any] = json.loads(
        endpoint.render(read_request(name), make_response(*parts, model=model))
    )
    return body


def stream_text(name: str, *parts: AnswerPart, model: str = "m", **fields: Any) -> str:
    endpoint = target_of(name).endpoint
    assert endpoint is not None and endpoint.encode is not None
    canonical_response = make_response(*parts, model=model)
    return encode_stream(
        endpoint.encode(read_request(name, **fields), canonical_response), canonical_response
    ).decode()


def stream_chunks(
    name: str, *parts: AnswerPart, model: str = "m", **fields: Any
) -> list[dict[str, Any]]:
    *events, done, end = stream_text(name, *parts, model=model, **fields).split("\n\n")
    assert (done, end) == ("data: [DONE]", "")
    return [json.loads(event[6:]) for event in events if event.startswith("data: ")]


def stream_deltas(name: str, *parts: AnswerPart, **fields: Any) -> list[dict[str, Any]]:
    return [c["choices"][0]["delta"] for c in stream_chunks(name, *parts, **fields) if c["choices"]]


def render_message(name: str, *parts: AnswerPart, model: str = "m") -> dict[str, Any]:
    assistant_message: dict[str, Any] = render_body(name, *parts, model=model)["choices"][0][
        "message"
    ]
    return assistant_message
