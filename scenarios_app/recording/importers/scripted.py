"""Steps of recordings that tell a conversation and not its bytes: ordinary conditions on what was
said, and an answer in parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.producing.templates import BRACES, OPENING
from scenarios_app.recording.document import TAG, Made, as_said


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation; `text` is what it says, or a tool's result."""

    role: str
    text: str = ""


def conversation_match(
    turns: Sequence[Turn], *, provider: str = "", model: str = ""
) -> dict[str, Json]:
    """What a request must be that goes on with these messages: its last user message, and the
    result after that, if one came."""
    match: dict[str, Json] = {}
    if provider:
        match["provider"] = provider
    if model:
        match["model"] = model
    messages: list[Json] = []
    asked = next((turn.text for turn in reversed(turns) if turn.role == "user"), "")
    if asked:
        messages.append({"role": "user", "which": "last", "equals": asked})
    if turns and turns[-1].role == "tool" and turns[-1].text:
        messages.append({"role": "tool", "which": "last", "equals": turns[-1].text})
    if messages:
        match["messages"] = messages
    return match


def turn_of(turns: Sequence[Turn]) -> int:
    """Which answer comes next."""
    return 1 + sum(turn.role == "assistant" for turn in turns)


def expected_tools(names: Sequence[str]) -> Json:
    """The `expect` of a step that was offered these tools: who serves them again offers them, and
    other clients may have others."""
    return {"tools": list(names), "allow_missing_tools": True}


def made(name: str, steps: Sequence[dict[str, Any]], notes: Sequence[str]) -> Made:
    """The document of such steps, whose answers are said as they stand."""
    written = [{**step, "produce": as_said(step["produce"])} for step in steps]
    document: dict[str, Any] = {"name": name, "tags": [TAG]}
    if written != list(steps):
        document["variables"] = {BRACES: OPENING}
    return Made({**document, "steps": written}, tuple(notes))
