"""Invalid requests to the Anthropic wire are rejected with the path of the error."""

from typing import Any

import pytest

from scenarios_app.wire.errors import WireError
from tests.wire.anthropic.anthropic_cases import MINIMAL_BODY, parse


@pytest.mark.parametrize("field", ["model", "max_tokens", "messages"])
def test_missing_field_is_rejected_with_its_name(field: str) -> None:
    for body in (
        {k: v for k, v in MINIMAL_BODY.items() if k != field},
        {**MINIMAL_BODY, field: None},
    ):
        assert _catch_message(body) == f"{field}: Field required"


@pytest.mark.parametrize(
    ("path", "invalid_fields"),
    [
        ("model", {"model": 5}),
        ("max_tokens", {"max_tokens": "16"}),
        ("max_tokens", {"max_tokens": 1.5}),
        ("max_tokens", {"max_tokens": True}),
        ("max_tokens", {"max_tokens": -1}),
        ("messages", {"messages": "Hello"}),
        ("messages", {"messages": []}),
        ("messages[0]", {"messages": ["Hello"]}),
        ("messages[0].role", {"messages": [{"content": "x"}]}),
        ("messages[0].role", {"messages": [{"role": 1, "content": "x"}]}),
        ("messages[0].role", {"messages": [{"role": "tool", "content": "x"}]}),
        ("messages[0].content", {"messages": [{"role": "user"}]}),
        ("messages[0].content", {"messages": [{"role": "assistant", "content": None}]}),
        ("messages[0].content", {"messages": [{"role": "user", "content": {"type": "text"}}]}),
        ("system", {"system": 1}),
        ("system[0].text", {"system": [{"type": "text"}]}),
        ("stream", {"stream": "yes"}),
        ("temperature", {"temperature": "hot"}),
        ("top_p", {"top_p": [1]}),
        ("stop_sequences", {"stop_sequences": "END"}),
        ("stop_sequences[1]", {"stop_sequences": ["END", 1]}),
        ("thinking", {"thinking": True}),
        ("thinking.type", {"thinking": {"budget_tokens": 1024}}),
        ("tools", {"tools": {"name": "f"}}),
        ("tools[0].name", {"tools": [{"input_schema": {}}]}),
        ("tools[0].name", {"tools": [{"type": "custom"}]}),
        ("tools[0].name", {"tools": [{"name": 1}]}),
        ("tools[0].type", {"tools": [{"name": "f", "type": 1}]}),
        ("tools[0].description", {"tools": [{"name": "f", "description": 1}]}),
        ("tools[0].mcp_server_name", {"tools": [{"mcp_server_name": 1}]}),
        ("tool_choice", {"tool_choice": "auto"}),
        ("metadata", {"metadata": "u"}),
        ("metadata.user_id", {"metadata": {"user_id": 5}}),
        ("output_config", {"output_config": "json"}),
        ("output_config.format", {"output_config": {"format": "json"}}),
        ("output_format", {"output_format": "json"}),
        ("thread", {"thread": "create"}),
        ("thread.type", {"thread": {}}),
        ("thread.previous_message_id", {"thread": {"type": "continue"}}),
    ],
)
def test_invalid_value_is_rejected_with_its_path(path: str, invalid_fields: dict[str, Any]) -> None:
    message = _catch_message({**MINIMAL_BODY, **invalid_fields})
    assert message.startswith(f"{path}:") or f"'{path}'" in message


@pytest.mark.parametrize(
    ("path", "block"),
    [
        ("type", {"text": "no type"}),
        ("type", {"type": 5}),
        ("text", {"type": "text"}),
        ("text", {"type": "text", "text": 1}),
        ("thinking", {"type": "thinking", "signature": "s"}),
        ("signature", {"type": "thinking", "thinking": "t", "signature": 1}),
        ("data", {"type": "redacted_thinking"}),
        ("id", {"type": "tool_use", "name": "f", "input": {}}),
        ("name", {"type": "tool_use", "id": "t", "input": {}}),
        ("input", {"type": "tool_use", "id": "t", "name": "f", "input": "{}"}),
        ("tool_use_id", {"type": "tool_result", "content": "x"}),
        ("content", {"type": "tool_result", "tool_use_id": "t", "content": 1}),
        ("content[0].type", {"type": "tool_result", "tool_use_id": "t", "content": [{}]}),
        ("is_error", {"type": "tool_result", "tool_use_id": "t", "is_error": "no"}),
    ],
)
def test_invalid_block_is_rejected_with_its_path(path: str, block: object) -> None:
    message = _catch_message({**MINIMAL_BODY, "messages": [{"role": "user", "content": [block]}]})
    full_path = f"messages[0].content[0].{path}"
    assert message.startswith(f"{full_path}:") or f"'{full_path}'" in message


def test_rejection_has_no_code_and_no_param() -> None:
    with pytest.raises(WireError) as raised:
        parse({**MINIMAL_BODY, "temperature": "hot"})
    error = raised.value.answer
    assert (error.status, error.code, error.param) == (400, None, None)


def test_continued_thread_is_not_found() -> None:
    thread = {"type": "continue", "previous_message_id": "msg_1"}
    with pytest.raises(WireError, match="msg_1") as raised:
        parse({**MINIMAL_BODY, "messages": [], "thread": thread})
    error = raised.value.answer
    assert (error.status, error.code) == (404, "thread_not_found")


def test_created_thread_does_not_change_the_request() -> None:
    assert (
        parse({**MINIMAL_BODY, "thread": {"type": "create"}}).messages
        == parse(MINIMAL_BODY).messages
    )


def _catch_message(body: object) -> str:
    with pytest.raises(WireError) as raised:
        parse(body)
    assert raised.value.answer.status == 400
    return raised.value.answer.message
