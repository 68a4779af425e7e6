"""An answer that no script gives, cut where its request wants it to end."""

from collections.abc import Sequence

from msgspec.structs import replace

from scenarios_app.engine.parts import (
    AnswerPart,
    Chunk,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    held_text,
)
from scenarios_app.engine.producing.usage import CHARACTERS_PER_TOKEN
from scenarios_app.engine.scenario import ScriptedChoice


def cut(choice: ScriptedChoice, *, max_tokens: int | None, stop: Sequence[str]) -> ScriptedChoice:
    """An answer of text, thinking and calls: its text up to the first of the sequences, all of it
    up to so many tokens. Its finish reason says what it ended at."""
    stopped = _stopped(choice, stop)
    return stopped if max_tokens is None else _limited(stopped, max(0, max_tokens))


def _stopped(choice: ScriptedChoice, stop: Sequence[str]) -> ScriptedChoice:
    wanted = [sequence for sequence in stop if sequence]
    for index, part in enumerate(choice.parts):
        text = part.text if isinstance(part, TextPart) else ""
        if found := [(text.find(sequence), sequence) for sequence in wanted if sequence in text]:
            at, sequence = min(found)
            shorter = _up_to(choice, index, at)
            return replace(shorter, finish_reason="stop_sequence", stop_sequence=sequence)
    return choice


def _limited(choice: ScriptedChoice, tokens: int) -> ScriptedChoice:
    left = tokens * CHARACTERS_PER_TOKEN
    for index, part in enumerate(choice.parts):
        size = len(held_text(part))
        if size > left:
            at = left - len(part.name) if isinstance(part, ToolCallPart) else left
            shorter = _up_to(choice, index, at)
            return replace(shorter, finish_reason="length", stop_sequence=None)
        left -= size
    return choice


def _up_to(choice: ScriptedChoice, index: int, size: int) -> ScriptedChoice:
    """The parts before an index, and so many characters of the one there; nothing of it where there
    would be none."""
    parts, part = choice.parts[:index], choice.parts[index]
    if size > 0:
        parts = (*parts, _shortened(part, size))
    if choice.chunks is None:
        return replace(choice, parts=parts)
    chunks = [chunk for chunk in choice.chunks if chunk.part < index]
    for chunk in choice.chunks:
        if chunk.part == index and size > 0:
            chunks.append(Chunk(index, chunk.text[:size]))
            size -= len(chunk.text)
    return replace(choice, parts=parts, chunks=tuple(chunks))


def _shortened(part: AnswerPart, size: int) -> AnswerPart:
    if isinstance(part, ToolCallPart):
        return replace(part, arguments=part.arguments[:size])
    assert isinstance(part, TextPart | ReasoningPart)
    return replace(part, text=part.text[:size])
