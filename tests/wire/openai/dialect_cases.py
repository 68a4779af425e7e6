"""Requests and answers in every dialect of OpenAI's API, for the tests of them."""

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
from tests.wire.played import played

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


def target(path: str, **headers: str) -> Target:
    found = find_target(make_call(path=path, headers={**KEY, **headers}))
    assert found is not None
    return found


def of(name: str) -> Target:
    """Where a call in a dialect goes."""
    return target(PATHS[name], host="127.0.0.1:11434" if name == "ollama" else "localhost")


def read(name: str, *messages: Any, model: str = "m", **fields: Any) -> CanonicalRequest:
    found = of(name)
    assert found.endpoint is not None
    body = {"model": model, "messages": list(messages) or [HELLO], **fields}
    node = read_body(msgspec.json.encode(body), Limits())
    call = make_call(path=PATHS[name])
    return found.endpoint.read(call, found.endpoint, found.params, node)


def response(*parts: AnswerPart, model: str = "m", spoken: str = "") -> CanonicalResponse:
    made = answer(parts, finish="tool_calls" if CALL in parts else "stop")
    return replace(made, id=HEX, model=model, spoken=spoken)


def whole(name: str, *parts: AnswerPart, model: str = "m") -> dict[str, Any]:
    endpoint = of(name).endpoint
    assert endpoint is not None and endpoint.render is not None
    body: dict[str, Any] = json.loads(endpoint.render(read(name), response(*parts, model=model)))
    return body


def sent(name: str, *parts: AnswerPart, model: str = "m", **fields: Any) -> str:
    endpoint = of(name).endpoint
    assert endpoint is not None and endpoint.encode is not None
    made = response(*parts, model=model)
    return played(endpoint.encode(read(name, **fields), made), made).decode()


def chunks(name: str, *parts: AnswerPart, model: str = "m", **fields: Any) -> list[dict[str, Any]]:
    *events, done, end = sent(name, *parts, model=model, **fields).split("\n\n")
    assert (done, end) == ("data: [DONE]", "")
    return [json.loads(event[6:]) for event in events if event.startswith("data: ")]


def deltas(name: str, *parts: AnswerPart, **fields: Any) -> list[dict[str, Any]]:
    return [c["choices"][0]["delta"] for c in chunks(name, *parts, **fields) if c["choices"]]


def message(name: str, *parts: AnswerPart, model: str = "m") -> dict[str, Any]:
    found: dict[str, Any] = whole(name, *parts, model=model)["choices"][0]["message"]
    return found
