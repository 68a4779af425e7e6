"""Scenario documents drawn at random, that a client which does everything right gets through."""

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
    """The next step of the conversation that its first message names."""
    match = {"messages": [{"role": "user", "which": "first", "contains": f"[{name}]"}]}
    return {"match": match, **keys}


def tool_call(*cities: str) -> dict[str, Any]:
    calls = [{"name": "get_weather", "arguments": {"city": city}} for city in cities]
    return {"tool_calls": calls}


def failing(draw: Random, times: int | None = None, **fault: Any) -> dict[str, Any]:
    return {"failures": {"times": times or draw.randint(1, 3), "fault": fault}}


def script(draw: Random, name: str, turns: int) -> dict[str, Any]:
    """A scenario of so many turns, some with calls of tools and some with failures."""
    steps = []
    for turn in range(turns):
        for _ in range(draw.choice((0, 0, 1, 2))):
            cities = draw.choice((("Paris",), ("Rome", "Oslo")))
            steps.append(step(name, produce=tool_call(*cities), **_trouble(draw)))
        text = f"answer {turn} of {name}: " + " ".join(["word"] * draw.randint(1, 30))
        steps.append(step(name, produce={"text": text}, **_trouble(draw)))
    return {"name": name, "steps": steps}


def _trouble(draw: Random) -> dict[str, Any]:
    return failing(draw, **draw.choice(FAULTS)) if draw.random() < 0.25 else {}
