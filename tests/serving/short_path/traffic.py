"""Random calls of every wire: repeated, different and slightly invalid ones."""

import json
from random import Random
from typing import Any

from msgspec.structs import replace

from scenarios_app.wire.base import Call
from tests.serving.pipelines import scenario, text_step
from tests.serving.templates.test_templates import (
    EFFECTS,
    OPTIONS,
    PRODUCE_SAMPLES,
    REQUEST_BUILDERS,
)

SESSIONS = ("default", "one", "two")
_WORDS = ("refund", "order", "Hello", "Zürich", "12", "needle", "\u2028", '"')
_SETTINGS: tuple[dict[str, Any], ...] = (
    {"response_format": "text"},
    {"response_format": "json"},
    {"tool_count": {"min": 1}},
    {"tool_count": {"max": 0}},
    {"max_tokens": {"min": 3, "max": 100}},
)
_CONVERSATION = [
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi! What can I do?"},
    {"role": "user", "content": "A refund, please."},
]


def documents(draw: Random) -> list[dict[str, Any]]:
    """Return scenarios with steps of every kind; some steps are consumed."""
    return [_scenario(draw, name) for name in ("a", "b", "c")]


def _scenario(draw: Random, name: str) -> dict[str, Any]:
    steps = [_step(draw) for _ in range(draw.randint(1, 4))]
    return scenario(name, *steps, priority=draw.randint(0, 2))


def _step(draw: Random) -> dict[str, Any]:
    immediate = [produce for produce in PRODUCE_SAMPLES if not _takes_time(produce)]
    step_produce = immediate[0] if draw.random() < 0.3 else draw.choice(immediate)
    step = text_step("", consume=draw.random() < 0.3, produce=step_produce)
    if draw.random() < 0.3:
        step["side_effects"] = draw.choice(EFFECTS)
    if draw.random() < 0.1:
        step["expect"] = {"temperature": 0.5}
    if draw.random() < 0.1:
        step["failures"] = {"times": 1, "fault": {"kind": "http", "status": 503}}
    match draw.randrange(5):
        case 0:
            step["match"] = {"messages": [{"role": "user", "contains": draw.choice(_WORDS)}]}
        case 1:
            step["match"] = {"provider": draw.choice(["anthropic", "gemini", "ollama", "openai"])}
        case 2:
            step["turn"] = draw.randint(1, 2)
        case 3:
            step["match"] = draw.choice(_SETTINGS)
    return step


def _takes_time(produce: dict[str, Any]) -> bool:
    """Return whether an answer has a delay or ends its connection."""
    fault = produce.get("fault", {}).get("kind")
    return bool({"pacing", "latency_ms"} & produce.keys()) or fault == "truncate"


def calls(draw: Random, count: int) -> list[Call]:
    """Return calls of which most are repeated."""
    repeated = [_call(draw) for _ in range(max(1, count // 12))]
    return [draw.choice(repeated) if draw.random() < 0.85 else _call(draw) for _ in range(count)]


def _call(draw: Random) -> Call:
    wire = draw.choice(sorted(OPTIONS))
    options = dict(draw.choice(OPTIONS[wire]))
    options.setdefault("text", " ".join(draw.choices(_WORDS, k=draw.randint(1, 30))))
    if draw.random() < 0.2:
        options["messages"] = [*_CONVERSATION, {"role": "user", "content": options["text"]}]
    session = draw.choice(SESSIONS)
    if session != "default":
        options["headers"] = {**options.get("headers", {}), "x-mockllm-session": session}
    call = REQUEST_BUILDERS[wire](**options)
    return _mutate(draw, call) if draw.random() < 0.15 else call


def _mutate(draw: Random, call: Call) -> Call:
    """Return a call whose body is unusual or invalid at one place."""
    body = json.loads(call.body)
    key = draw.choice(sorted(body))
    match draw.randrange(6):
        case 0:
            del body[key]
        case 1:
            body[key] = draw.choice([None, 1.5, True, "x", [], {}, -1])
        case 2:
            body["unknown"] = {"a": [1]}
        case 3:
            return replace(call, body=call.body[: draw.randrange(len(call.body))])
        case 4:
            return replace(call, body=call.body.replace(b":", b" :\n", 1))
        case _:
            body = dict(reversed(body.items()))
    return replace(call, body=json.dumps(body).encode())
