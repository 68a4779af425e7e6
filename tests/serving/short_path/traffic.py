"""Random calls of every wire: repeated ones, different ones, and ones that are slightly wrong."""

import json
from random import Random
from typing import Any

from msgspec.structs import replace

from scenarios_app.wire.base import Call
from tests.serving.pipelines import says, scenario
from tests.serving.templates.test_templates import ASK, EFFECTS, OPTIONS, PRODUCED

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
    """Return scenarios with steps of every kind, of which some answer once."""
    return [_scenario(draw, name) for name in ("a", "b", "c")]


def _scenario(draw: Random, name: str) -> dict[str, Any]:
    steps = [_step(draw) for _ in range(draw.randint(1, 4))]
    return scenario(name, *steps, priority=draw.randint(0, 2))


def _step(draw: Random) -> dict[str, Any]:
    at_once = [one for one in PRODUCED if not _takes_time(one)]
    produced = at_once[0] if draw.random() < 0.3 else draw.choice(at_once)
    step = says("", consume=draw.random() < 0.3, produce=produced)
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


def _takes_time(produced: dict[str, Any]) -> bool:
    """Return whether an answer waits or ends its connection."""
    fault = produced.get("fault", {}).get("kind")
    return bool({"pacing", "latency_ms"} & produced.keys()) or fault == "truncate"


def calls(draw: Random, count: int) -> list[Call]:
    """Return calls, each of them some times."""
    few = [_call(draw) for _ in range(max(1, count // 12))]
    return [draw.choice(few) if draw.random() < 0.85 else _call(draw) for _ in range(count)]


def _call(draw: Random) -> Call:
    wire = draw.choice(sorted(OPTIONS))
    options = dict(draw.choice(OPTIONS[wire]))
    options.setdefault("text", " ".join(draw.choices(_WORDS, k=draw.randint(1, 30))))
    if draw.random() < 0.2:
        options["messages"] = [*_CONVERSATION, {"role": "user", "content": options["text"]}]
    session = draw.choice(SESSIONS)
    if session != "default":
        options["headers"] = {**options.get("headers", {}), "x-mockllm-session": session}
    call = ASK[wire](**options)
    return _spoiled(draw, call) if draw.random() < 0.15 else call


def _spoiled(draw: Random, call: Call) -> Call:
    """Return a call whose body is unusual or wrong at one place."""
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
