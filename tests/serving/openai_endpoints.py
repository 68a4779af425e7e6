"""Calls of OpenAI's endpoints besides chat: responses, completions, embeddings and moderations, and
the scenarios that answer them."""

import json
from typing import Any

from scenarios_app.wire.base import Call
from tests.serving.pipelines import KEY, scenario

TOOL = {"name": "get_weather", "arguments": {"city": "Zürich", "days": [1, {"b": 1, "a": 2}]}}
SCENARIOS: list[dict[str, Any]] = [
    scenario(
        "others",
        {
            "match": {"model": "others"},
            "consume": False,
            "produce": {
                "reasoning": "Hm, hm, hm.",
                "text": "Größe: “fünf” 🙂.",
                "tool_calls": [TOOL, TOOL],
            },
        },
    ),
    scenario(
        "others spoken",
        {"match": {"model": "spoken"}, "consume": False, "produce": {"text": "One, zwei, 三."}},
    ),
    scenario(
        "others limited",
        {
            "match": {"model": "limited others"},
            "consume": False,
            "produce": {"fault": {"kind": "rate_limit", "retry_after_ms": 1500}},
        },
    ),
]
STREAMABLE: dict[str, tuple[str, dict[str, Any]]] = {
    "responses": ("responses", {"model": "others", "input": "you and me", "store": False}),
    "responses-said": (
        "responses",
        {
            "model": "spoken",
            "instructions": "Be brief.",
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "Größe?"}]}],
            "metadata": {"b": "1", "a": "2"},
        },
    ),
    "responses-limited": ("responses", {"model": "limited others", "input": "Hello"}),
    "completions": ("completions", {"model": "spoken", "prompt": "you and me", "max_tokens": 9}),
    "completions-two": ("completions", {"model": "spoken", "prompt": ["a", "ü"], "echo": True}),
    "completions-limited": ("completions", {"model": "limited others", "prompt": "Hello"}),
}
WHOLE_ONLY: dict[str, tuple[str, dict[str, Any]]] = {
    "embeddings": ("embeddings", {"model": "text-embedding-3-small", "input": "you and me"}),
    "embeddings-base64": (
        "embeddings",
        {"model": "m", "input": ["a", "ü 🙂"], "dimensions": 5, "encoding_format": "base64"},
    ),
    "embeddings-wrong": ("embeddings", {"model": "m", "input": []}),
    "moderations": ("moderations", {"model": "omni-moderation-latest", "input": "you and me"}),
    "moderations-many": ("moderations", {"input": ["a", "I will kill you", "ü"]}),
    "moderations-wrong": ("moderations", {"input": 1}),
}


def calls() -> dict[str, Call]:
    """Return the calls by the names of their golden files."""
    named_calls = {
        f"{name}-whole": call(path, body)
        for name, (path, body) in (STREAMABLE | WHOLE_ONLY).items()
    }
    for name, (path, body) in STREAMABLE.items():
        named_calls[f"{name}-stream"] = call(path, body | {"stream": True})
    return named_calls


def call(path: str, body: dict[str, Any]) -> Call:
    headers = {"authorization": f"Bearer {KEY}"}
    return Call("POST", f"/v1/{path}", {}, headers, json.dumps(body).encode())
