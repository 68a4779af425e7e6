"""Random scenario documents that a well-behaved client runs through without a finding."""

from random import Random
from typing import Any

FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "rate_limit"},
    {"kind": "rate_limit", "retry_after_ms": 250},
    {"kind": "rate_limit", "retry_after_ms": 0},
    {"kind": "model_error"},
    {"kind": "http", "status": 503},
    {"kind": "http", "status": 529, "retry_after_ms": 2000},
    {"kind": "network_error"},
    {"kind": "disconnect", "after_chunks": 2},
    {"kind": "truncate", "after_chunks": 2},
)


def step(name: str, **keys: Any) -> dict[str, Any]:
    """Return a step that matches conversations whose first message contains the name."""
    match = {"messages": [{"role": "user", "which": "first", "contains": f"[{name}]"}]}
    return {"match": match, **keys}


def tool_call(*cities: str) -> dict[str, Any]:
    calls = [{"name": "get_weather", "arguments": {"city": city}} for city in cities]
    return {"tool_calls": calls}


def failing(random: Random, times: int | None = None, **fault: Any) -> dict[str, Any]:
    return {"failures": {"times": times or random.randint(1, 3), "fault": fault}}


def script(random: Random, name: str, turns: int) -> dict[str, Any]:
    """Return a scenario with this number of turns, some with tool calls or failures."""
    steps = []
    for turn in range(turns):
        for _ in range(random.choice((0, 0, 1, 2))):
            cities = random.choice((("Paris",), ("Rome", "Oslo")))
            steps.append(step(name, produce=tool_call(*cities), **_random_failures(random)))
        text = f"answer {turn} of {name}: " + " ".join(["word"] * random.randint(1, 30))
        steps.append(step(name, produce={"text": text}, **_random_failures(random)))
    return {"name": name, "steps": steps}


def _random_failures(random: Random) -> dict[str, Any]:
    return failing(random, **random.choice(FAULTS)) if random.random() < 0.25 else {}
