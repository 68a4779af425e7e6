"""Parsing of Anthropic requests."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import CanonicalRequest, Message, Tool
from scenarios_app.engine.parts import (
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from scenarios_app.wire.anthropic.options import AnthropicOptions
from scenarios_app.wire.errors import WireError
from tests.wire.anthropic.anthropic_cases import COUNT_TOKENS, MINIMAL_BODY, parse, parse_messages


def test_minimal_request_has_the_defaults() -> None:
    assert parse(MINIMAL_BODY) == CanonicalRequest(
        provider="anthropic",
        path="/v1/messages",
        route="/v1/messages",
        model="claude-x",
        messages=(Message("user", (TextPart("Hello"),)),),
        max_tokens=16,
        headers={"x-api-key": "key-1", "anthropic-version": "2023-06-01"},
        own=AnthropicOptions(thinking=True),
    )


def test_parameters_that_scenarios_match_are_read() -> None:
    request = parse(
        {
            **MINIMAL_BODY,
            "stream": True,
            "temperature": 1,
            "top_p": 0.5,
            "stop_sequences": ["END", "\n\n"],
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "tool_choice": {"type": "tool", "name": "f"},
            "metadata": {"user_id": "u-1"},
            "output_config": {"format": {"type": "json_schema", "schema": {}}, "effort": "low"},
        }
    )
    assert request.stream is True
    assert (request.temperature, request.top_p, request.max_tokens) == (1.0, 0.5, 16)
    assert request.stop == ("END", "\n\n")
    assert request.reasoning is True
    assert request.tool_choice == {"type": "tool", "name": "f"}
    assert request.metadata == {"user_id": "u-1"}
    assert request.response_format == {"type": "json_schema", "schema": {}}


def test_null_equals_an_absent_field() -> None:
    optional = ["system", "tools", "tool_choice", "stream", "temperature", "top_p", "metadata"]
    optional += ["stop_sequences", "thinking", "output_config", "output_format"]
    assert parse({**MINIMAL_BODY, **dict.fromkeys(optional)}) == parse(MINIMAL_BODY)


def test_unread_fields_change_nothing() -> None:
    unread_fields = {
        "service_tier": "auto",
        "top_k": 5,
        "mcp_servers": [{"name": "m"}],
        "new_in_2027": 1,
    }
    assert parse({**MINIMAL_BODY, **unread_fields}) == parse(MINIMAL_BODY)


@pytest.mark.parametrize(
    ("thinking", "reasoning"),
    [
        ({"type": "enabled", "budget_tokens": 1024}, True),
        ({"type": "adaptive", "display": "summarized"}, True),
        ({"type": "between_tools"}, True),
        ({"type": "disabled"}, False),
    ],
)
def test_thinking_switches_reasoning(thinking: object, reasoning: bool) -> None:
    assert parse({**MINIMAL_BODY, "thinking": thinking}).reasoning is reasoning


def test_output_format_of_older_beta_clients_is_read() -> None:
    output_format = {"type": "json_schema", "schema": {"type": "object"}}
    assert parse({**MINIMAL_BODY, "output_format": output_format}).response_format == output_format
    config = {"output_config": {"effort": "low"}, "output_format": output_format}
    assert parse({**MINIMAL_BODY, **config}).response_format == output_format


def test_metadata_keeps_only_texts() -> None:
    metadata = {"user_id": "u", "team": "qa", "shift": 2}
    assert parse({**MINIMAL_BODY, "metadata": metadata}).metadata == {"user_id": "u", "team": "qa"}
    assert parse({**MINIMAL_BODY, "metadata": {"team": "qa"}}).metadata == {"team": "qa"}


@pytest.mark.parametrize(
    ("system", "text"),
    [
        ("Be brief.", "Be brief."),
        ([{"type": "text", "text": "Be"}, {"type": "text", "text": "brief."}], "Be\nbrief."),
    ],
)
def test_the_system_prompt_is_the_first_message(system: object, text: str) -> None:
    request = parse({**MINIMAL_BODY, "system": system})
    assert request.messages[0].role == "system"
    assert request.system_text == text
    assert request.turn == 1


def test_system_message_between_others_may_have_settings_only() -> None:
    request = parse_messages(
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "From here on, rhyme."},
        {"role": "system", "output_config": {"effort": "low"}},
    )
    assert request.messages[1:] == (
        Message("system", (TextPart("From here on, rhyme."),)),
        Message("system", ()),
    )


def test_blocks_without_text_become_opaque_parts() -> None:
    (message,) = parse_messages(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look:", "cache_control": {"type": "ephemeral"}},
                {"type": "image", "source": {"type": "url", "url": "http://x/"}},
                {"type": "document", "source": {"type": "text", "data": "d"}},
                {"type": "search_result", "source": "s", "title": "t", "content": []},
                {"type": "container_upload", "file_id": "f"},
                {"type": "not_yet_invented", "anything": [1]},
            ],
        }
    ).messages
    assert message.parts == (
        TextPart("Look:"),
        OpaquePart("image"),
        OpaquePart("document"),
        OpaquePart("search_result"),
        OpaquePart("container_upload"),
        OpaquePart("not_yet_invented"),
    )


def test_assistant_blocks_become_parts() -> None:
    (message,) = parse_messages(
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "thinking", "thinking": "Hm.", "signature": ""},
                {"type": "thinking", "thinking": "Hm."},
                {"type": "redacted_thinking", "data": "x=="},
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"b": 1, "a": "ü"}},
                {"type": "tool_use", "id": "t2", "name": "g"},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
            ],
        }
    ).messages
    assert message.parts == (
        ReasoningPart("Hm.", signature="sig"),
        ReasoningPart("Hm."),
        ReasoningPart("Hm."),
        ReasoningPart("", redacted="x=="),
        TextPart("Let me see."),
        ToolCallPart("t1", "f", '{"b":1,"a":"ü"}'),
        ToolCallPart("t2", "g", "{}"),
        OpaquePart("server_tool_use"),
    )


def test_numbers_in_tool_arguments_are_kept_exactly() -> None:
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {"n": 2**70, "x": 1.50}}
    (tool_call,) = parse_messages({"role": "assistant", "content": [block]}).tool_calls
    assert tool_call.arguments == '{"n":1180591620717411303424,"x":1.5}'


def test_each_tool_result_is_a_tool_message_with_the_name_of_its_call() -> None:
    request = parse_messages(
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "t1", "name": "weather", "input": {}},
                {"type": "tool_use", "id": "t2", "name": "time", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "sunny"},
                {"type": "tool_result", "tool_use_id": "t2", "content": "late", "is_error": True},
            ],
        },
    )
    assert request.messages[2:] == (
        Message("tool", (ToolResultPart("t1", "weather", "sunny"),)),
        Message("tool", (ToolResultPart("t2", "time", "late", is_error=True),)),
    )
    assert request.last_user_text == "Weather?"
    assert request.turn == 2


def test_content_around_tool_results_stays_a_user_message_in_order() -> None:
    result = {"type": "tool_result", "tool_use_id": "unheard"}
    first, after = {"type": "text", "text": "first"}, {"type": "text", "text": "after"}
    image = {"type": "image", "source": {}}
    request = parse_messages({"role": "user", "content": [first, result, after, image]})
    assert request.messages == (
        Message("user", (TextPart("first"),)),
        Message("tool", (ToolResultPart("unheard", "", ""),)),
        Message("user", (TextPart("after"), OpaquePart("image"))),
    )


def test_the_text_of_a_tool_result_is_its_text_blocks() -> None:
    content = [
        {"type": "text", "text": "a"},
        {"type": "image", "source": {}},
        {"type": "tool_reference", "tool_name": "x"},
        {"type": "text", "text": "b"},
    ]
    result = {"type": "tool_result", "tool_use_id": "t", "content": content}
    request = parse_messages({"role": "user", "content": [result]})
    assert request.tool_results[0].content == "a\nb"


def test_an_empty_list_of_blocks_is_an_empty_message() -> None:
    request = parse_messages({"role": "user", "content": []}, {"role": "assistant", "content": []})
    assert request.messages == (Message("user", ()), Message("assistant", ()))


def test_tools_have_the_names_of_the_request() -> None:
    schema: Any = {"type": "object", "properties": {"city": {"type": "string"}}}
    request = parse(
        {
            **MINIMAL_BODY,
            "tools": [
                {"name": "weather", "description": "Looks.", "input_schema": schema},
                {"name": "custom", "type": "custom", "input_schema": {}},
                {"name": "untyped", "type": None},
                {"name": "bash", "type": "bash_20250124"},
                {"name": "web_search", "type": "web_search_20250305", "max_uses": 2},
                {"type": "mcp_toolset", "mcp_server_name": "files"},
                {"type": "computer_toolset_20260801"},
            ],
        }
    )
    assert request.tools[0] == Tool("weather", "Looks.", schema)
    assert [tool.name for tool in request.tools[1:]] == [
        "custom",
        "untyped",
        "bash",
        "web_search",
        "files",
        "computer_toolset_20260801",
    ]


def test_counting_needs_no_max_tokens() -> None:
    body = {"model": "claude-x", "messages": MINIMAL_BODY["messages"]}
    assert parse(body, COUNT_TOKENS).max_tokens is None
    assert parse({**body, "max_tokens": 0}, COUNT_TOKENS).max_tokens == 0


def test_token_count_is_never_streamed() -> None:
    assert not parse({**MINIMAL_BODY, "stream": True}, COUNT_TOKENS).stream
    with pytest.raises(WireError, match="stream"):
        parse({**MINIMAL_BODY, "stream": "yes"}, COUNT_TOKENS)


def test_nested_tool_results_are_not_read() -> None:
    nested: Any = {"type": "tool_result", "tool_use_id": "in", "content": "inner"}
    result = {"type": "tool_result", "tool_use_id": "out", "content": [nested]}
    request = parse_messages({"role": "user", "content": [result]})
    assert [r.content for r in request.tool_results] == [""]
