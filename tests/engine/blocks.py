"""Instruction blocks in few words: a request that holds one, and what is made of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.engine.instructions import END, START, Instructed, instructed
from scenarios_app.engine.parts import AnswerPart, ReasoningPart, TextPart, ToolCallPart
from scenarios_app.engine.probes import Received
from tests.engine.asking import ask, say

SAMPLES = Path(__file__).resolve().parents[2].parent / "shared/data/instruction_blocks_sample.json"
RECEIVED = Received(
    url="/v1/chat/completions?beta=true",
    headers={"x-team": "qa", "authorization": "Bearer ***1234"},
    body={"model": "gpt-4o", "temperature": 0.5, "tools": [{"type": "function"}]},
)


def samples() -> list[dict[str, Any]]:
    """The real blocks that are handed around beside the checkout."""
    if not SAMPLES.is_file():
        pytest.skip(f"../shared/data/{SAMPLES.name} is not there")
    found: list[dict[str, Any]] = json.loads(SAMPLES.read_text())
    return found


def marked(block: Json) -> str:
    """A user message with a block; text stands for JSON as it is."""
    text = block if isinstance(block, str) else json.dumps(block, ensure_ascii=False)
    return f"Do it. {START}{text}{END} Thank you."


def asking(block: Json, answered: int = 0, **fields: Any) -> CanonicalRequest:
    """A request with a block, and so many assistant messages after it."""
    turns = [say("assistant", "done") for _ in range(answered)]
    return ask(marked(block), *turns, **fields)


def made(request: CanonicalRequest, limit: int = 2_000_000) -> Instructed | ErrorAnswer | None:
    return instructed(request, lambda: RECEIVED, max_text_bytes=limit)


def obeyed(block: Json, answered: int = 0, **fields: Any) -> Instructed:
    found = made(asking(block, answered, **fields))
    assert isinstance(found, Instructed), found
    return found


def choices(block: Json, answered: int = 0, **fields: Any) -> list[tuple[AnswerPart, ...]]:
    """The parts of each of the answer's choices."""
    return [choice.parts for choice in obeyed(block, answered, **fields).answer.choices]


def message(**kinds: Json) -> dict[str, Json]:
    """A block of one message."""
    return {"messages": [kinds]}


def part(block: Json, **fields: Any) -> AnswerPart:
    """The only part of the only choice."""
    ((found,),) = choices(block, **fields)
    return found


def text(block: Json, **fields: Any) -> str:
    found = part(block, **fields)
    assert isinstance(found, TextPart)
    return found.text


def texts(parts: tuple[AnswerPart, ...]) -> list[tuple[type[AnswerPart], str]]:
    return [
        (type(p), p.arguments if isinstance(p, ToolCallPart) else p.text)
        for p in parts
        if isinstance(p, TextPart | ReasoningPart | ToolCallPart)
    ]


def problem(block: Json, limit: int = 2_000_000) -> str:
    found = made(asking(block), limit)
    assert isinstance(found, ErrorAnswer), found
    assert (found.status, found.param) == (400, "messages")
    return found.message
