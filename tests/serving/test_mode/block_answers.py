"""Sample instruction blocks, and the parsed answers of each wire to one."""

from typing import Any

from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS, ParsedAnswer
from tests.serving.modes import WireName, fetch_body, harness_in_test_mode, sample_call, with_marks
from tests.serving.reading import (
    ParsedChoice,
    parse_anthropic_body,
    parse_anthropic_stream,
    parse_openai_body,
    parse_openai_stream,
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


async def fetch_choices(call: Call, *, stream: bool) -> list[ParsedChoice]:
    body = await fetch_body(harness_in_test_mode(words_per_second=0), call)
    return parse_openai_stream(body) if stream else parse_openai_body(body)


async def fetch_blocks(call: Call, *, stream: bool) -> tuple[list[dict[str, Any]], str | None]:
    body = await fetch_body(harness_in_test_mode(words_per_second=0), call)
    return parse_anthropic_stream(body) if stream else parse_anthropic_body(body)


async def fetch_texts(wire: WireName, block: dict[str, Any], **fields: Any) -> list[str]:
    """Return the texts of the answer to a block, one for each message where the wire keeps them
    apart."""
    return (
        await fetch_answer(
            wire, sample_call(wire, with_marks(block), stream=True, **fields), stream=True
        )
    ).texts


async def fetch_answer(wire: WireName, call: Call, *, stream: bool) -> ParsedAnswer:
    return DIALECTS[wire].parse(
        await fetch_body(harness_in_test_mode(words_per_second=0), call), stream=stream
    )


def join_messages(wire: WireName, texts: list[str]) -> list[str]:
    """Return the texts of several messages, joined if the wire has one message."""
    return ["".join(texts)] if DIALECTS[wire].one_message else texts


def without_ids(parsed: tuple[list[dict[str, Any]], str | None]) -> Any:
    """Return parsed blocks without their ids, with the stop reason."""
    blocks, reason = parsed
    return [{k: v for k, v in b.items() if k not in ("id", "tool_use_id")} for b in blocks], reason
