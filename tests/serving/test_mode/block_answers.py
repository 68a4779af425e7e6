"""Instruction blocks, and what each wire answers to one."""

from typing import Any

from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS, Heard
from tests.serving.modes import WireName, asking, body_of, in_test_mode, marked
from tests.serving.reading import (
    Spoken,
    anthropic_stream,
    anthropic_whole,
    openai_stream,
    openai_whole,
)

CALL = {"name": "get_weather", "args": {"location": "Chicago", "days": [1, 2]}}
MIXED: dict[str, Any] = {
    "id": "mixed",
    "id_message": "The mark",
    "reasoning": {"length": 12},
    "messages": [
        {"tool_call": [CALL, {"name": "now", "args": {}}]},
        {"text_message": {"length": 25}},
        {"text": "verbatim  text"},
    ],
}
SEARCH: dict[str, Any] = {
    "messages": [
        {"server_tool_use": {"name": "web_search", "input": {"query": "q"}}},
        {"server_tool_result": {"name": "web_search", "result": [{"url": "u", "title": "t"}]}},
        {"text_with_citations": {"text": "It is so.", "citations": [{"url": "u", "title": "t"}]}},
    ]
}


async def choices(call: Call, *, stream: bool) -> list[Spoken]:
    body = await body_of(in_test_mode(words_per_second=0), call)
    return openai_stream(body) if stream else openai_whole(body)


async def blocks(call: Call, *, stream: bool) -> tuple[list[dict[str, Any]], str | None]:
    body = await body_of(in_test_mode(words_per_second=0), call)
    return anthropic_stream(body) if stream else anthropic_whole(body)


async def texts(wire: WireName, block: dict[str, Any], **fields: Any) -> list[str]:
    """What an answer of texts alone says, message by message where they can be told apart."""
    return (await hear(wire, asking(wire, marked(block), stream=True, **fields), stream=True)).texts


async def hear(wire: WireName, call: Call, *, stream: bool) -> Heard:
    return DIALECTS[wire].hear(await body_of(in_test_mode(words_per_second=0), call), stream=stream)


def apart(wire: WireName, texts: list[str]) -> list[str]:
    """Texts of several messages, as a wire gives them."""
    return ["".join(texts)] if DIALECTS[wire].one_message else texts


def without_ids(found: tuple[list[dict[str, Any]], str | None]) -> Any:
    blocks, reason = found
    return [{k: v for k, v in b.items() if k not in ("id", "tool_use_id")} for b in blocks], reason
