"""Renders reasoning in the field that each dialect has for it, whole and streamed."""

from collections.abc import Sequence

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.parts import ReasoningPart
from scenarios_app.wire.base import encode_json
from scenarios_app.wire.openai.dialects.dialect import Dialect, Fields, ReasoningPlace
from scenarios_app.wire.openai.dialects.openrouter import (
    closing_details,
    detail_frame,
    reasoning_details,
)


def reasoning_fields(
    where: ReasoningPlace, blocks: Sequence[ReasoningPart], model: str, content: str | None
) -> Fields:
    """Return the fields of a message for its reasoning; Mistral's is the whole `content`. Without
    reasoning text there are none, except OpenRouter's details."""
    text = "".join(part.text for part in blocks)
    match where:
        case "details":
            details: list[Json] = []
            for index, part in enumerate(blocks):
                details += reasoning_details(part, model, index)
            return {"reasoning": text or None, "reasoning_details": details}
        case "content" if text:
            thinking: Json = {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
            text_parts: list[Json] = [{"type": "text", "text": content}] if content else []
            return {"content": [thinking, *text_parts]}
        case "reasoning" | "reasoning_content" if text:
            return {where: text}
        case _:
            return {}


def reasoning_delta_frame(dialect: Dialect, model: str, index: int) -> tuple[bytes, ...]:
    """Return the bytes around a reasoning delta's encoded text, and between its repetitions.
    `index` is the number of the reasoning block in its message."""
    match dialect.reasoning:
        case "details":
            before, after = detail_frame(model, index)
            return (
                b'{"role":"assistant","content":"","reasoning":',
                b',"reasoning_details":[' + before,
                after + b"]}",
            )
        case "content":
            return (
                b'{"content":[{"type":"thinking","thinking":[{"type":"text","text":',
                b"}]}]}",
            )
        case name:
            make_fields = dialect.make_reasoning_fields
            beside = encode_json(make_fields(model))[1:-1] if make_fields else b""
            return (b'{"%b":' % name.encode(), b",%b}" % beside if beside else b"}")


def reasoning_end_delta(
    where: ReasoningPlace, part: ReasoningPart, model: str, index: int
) -> Fields:
    """Return OpenRouter's delta after a reasoning block, with its signature or encrypted data;
    empty if it has neither, and in other dialects."""
    if where != "details" or not (rest := closing_details(part, model, index)):
        return {}
    return {"role": "assistant", "content": "", "reasoning": None, "reasoning_details": rest}
