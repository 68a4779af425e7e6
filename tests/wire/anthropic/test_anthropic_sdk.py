"""Calls of the official SDK with every parameter; the wire's responses pass strict validation."""

from typing import Any

import httpx2
import pytest
from anthropic import Anthropic
from anthropic.types import Message, ModelInfo
from anthropic.types.beta import BetaMessage, BetaModelInfo

from scenarios_app.engine.canonical import CanonicalResponse, Usage
from scenarios_app.engine.parts import ReasoningPart, TextPart, ToolCallPart
from tests.wire.anthropic.anthropic_cases import response, transport

ANSWER = response(
    ReasoningPart("I should look.", signature="sig"),
    TextPart("Looking."),
    ToolCallPart("toolu_1", "weather", '{"city":"Paris"}'),
    reason="tool_calls",
    usage=Usage(20, 10, 4, 5),
)
SYSTEM = [
    {
        "type": "text",
        "text": "Answer in French.",
        "cache_control": {"type": "ephemeral", "ttl": "1h"},
        "citations": [
            {
                "type": "char_location",
                "cited_text": "Bonjour",
                "document_index": 0,
                "document_title": None,
                "start_char_index": 0,
                "end_char_index": 7,
            }
        ],
    }
]
TOOLS = [
    {
        "name": "weather",
        "type": "custom",
        "description": "Tells the weather.",
        "input_schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
        "allowed_callers": ["direct"],
        "cache_control": {"type": "ephemeral"},
        "defer_loading": False,
        "eager_input_streaming": True,
        "input_examples": [{"city": "Oslo"}],
        "strict": True,
    },
    {"type": "bash_20250124", "name": "bash"},
    {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
    {
        "type": "web_search_20250305",
        "name": "web_search",
        "max_uses": 3,
        "allowed_domains": ["example.org"],
        "user_location": {"type": "approximate", "city": "Paris"},
    },
]
CONVERSATION = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this, and how is the weather there?"},
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
            },
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "Notes."},
                "title": "Notes",
                "citations": {"enabled": True},
            },
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
            {"type": "redacted_thinking", "data": "x=="},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "s1",
                "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
            },
            {"type": "tool_use", "id": "toolu_0", "name": "weather", "input": {"city": "Oslo"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "toolu_0",
                "content": [{"type": "text", "text": "cold"}],
                "is_error": False,
            }
        ],
    },
]
TOKEN_COUNT_ARGUMENTS: dict[str, Any] = {
    "model": "claude-x",
    "messages": CONVERSATION,
    "system": SYSTEM,
    "tools": TOOLS,
    "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 1024, "display": "summarized"},
    "cache_control": {"type": "ephemeral", "ttl": "5m"},
    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {}}},
    "workspace_id": "wrkspc_1",
}
MESSAGE_ARGUMENTS: dict[str, Any] = {
    **TOKEN_COUNT_ARGUMENTS,
    "max_tokens": 2048,
    "container": {"id": "c1", "skills": [{"type": "anthropic", "skill_id": "pdf"}]},
    "diagnostics": {"previous_message_id": "msg_0"},
    "inference_geo": "eu",
    "metadata": {"user_id": "u-1"},
    "service_tier": "auto",
    "speed": "standard",
    "stop_sequences": ["END"],
    "user_profile_id": "profile",
}
BETA_TOKEN_COUNT_ARGUMENTS: dict[str, Any] = {
    **TOKEN_COUNT_ARGUMENTS,
    "betas": ["computer-use-2025-01-24"],
    "compaction": {"type": "summarize", "instructions": "Be short."},
    "context_management": {
        "edits": [
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "input_tokens", "value": 100},
                "keep": {"type": "tool_uses", "value": 3},
            }
        ]
    },
    "mcp_servers": [{"type": "url", "name": "files", "url": "https://mcp.example.org"}],
    "tools": [
        *TOOLS,
        {"type": "mcp_toolset", "mcp_server_name": "files"},
        {"type": "computer_20250124", "name": "computer", "display_height_px": 9},
    ],
}
BETA_MESSAGE_ARGUMENTS: dict[str, Any] = {
    **BETA_TOKEN_COUNT_ARGUMENTS,
    **MESSAGE_ARGUMENTS,
    "tools": BETA_TOKEN_COUNT_ARGUMENTS["tools"],
    "billing_policy": {"type": "billing_policy", "bill_to": "self"},
    "fallback_credit_token": "token",
    "fallbacks": "default",
    "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}},
    "thread": {"type": "create"},
}


@pytest.fixture
def client() -> Any:
    with _client(ANSWER) as client:
        yield client


def test_message_has_the_scripted_content(client: Anthropic) -> None:
    message = client.messages.create(**MESSAGE_ARGUMENTS)
    assert type(message) is Message
    assert message.to_dict(exclude_none=True)["content"] == _CONTENT
    assert message.usage.output_tokens == 10


def test_beta_message_has_the_scripted_content(client: Anthropic) -> None:
    message = client.beta.messages.create(**BETA_MESSAGE_ARGUMENTS)
    assert type(message) is BetaMessage
    assert message.to_dict(exclude_none=True)["content"] == _CONTENT


def test_stream_adds_up_to_the_unstreamed_message(client: Anthropic) -> None:
    with client.messages.stream(
        **{**MESSAGE_ARGUMENTS, "output_config": {"effort": "low"}}
    ) as stream:
        assert "".join(stream.text_stream) == "Looking."
        final = stream.get_final_message()
    assert final.to_dict(exclude_none=True) == client.messages.create(**MESSAGE_ARGUMENTS).to_dict(
        exclude_none=True
    )


def test_raw_beta_stream_starts_and_stops(client: Anthropic) -> None:
    events = list(client.beta.messages.create(**BETA_MESSAGE_ARGUMENTS, stream=True))
    assert [events[0].type, events[-2].type, events[-1].type] == [
        "message_start",
        "message_delta",
        "message_stop",
    ]


def test_beta_token_count_is_larger(client: Anthropic) -> None:
    token_count = client.messages.count_tokens(**TOKEN_COUNT_ARGUMENTS).input_tokens
    beta_token_count = client.beta.messages.count_tokens(**BETA_TOKEN_COUNT_ARGUMENTS).input_tokens
    assert 0 < token_count < beta_token_count


def test_models_are_listed_and_retrieved(client: Anthropic) -> None:
    assert [model.id for model in client.models.list()] == ["claude-a", "claude-b"]
    assert [model.id for model in client.models.list(limit=1)] == ["claude-a", "claude-b"]
    page = client.models.list(after_id="?", before_id="?", lifecycle=["active"], limit=1)
    assert [model.id for model in page.data] == ["claude-a"]
    assert type(client.models.retrieve("claude-z")) is ModelInfo


def test_beta_models_are_listed_and_retrieved(client: Anthropic) -> None:
    assert [model.id for model in client.beta.models.list(betas=["x"])] == ["claude-a", "claude-b"]
    model = client.beta.models.retrieve("claude-z", betas=["x"])
    assert type(model) is BetaModelInfo
    assert model.id == "claude-z"


def test_tool_result_continues_the_conversation(client: Anthropic) -> None:
    first = client.messages.create(model="m", max_tokens=9, messages=[CONVERSATION[0]])
    second = client.messages.create(
        model="m",
        max_tokens=9,
        messages=[
            CONVERSATION[0],
            {"role": "assistant", "content": first.content},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "mild"}],
            },
        ],
    )
    assert second.stop_reason == "tool_use"


_CONTENT = [
    {"type": "thinking", "thinking": "I should look.", "signature": "sig"},
    {"type": "text", "text": "Looking."},
    {
        **{"type": "tool_use", "id": "toolu_1", "name": "weather"},
        **{"input": {"city": "Paris"}, "caller": {"type": "direct"}},
    },
]


def _client(answer: CanonicalResponse) -> Anthropic:
    return Anthropic(
        api_key="k",
        base_url="http://test",
        http_client=httpx2.Client(transport=transport(answer)),
        max_retries=0,
        _strict_response_validation=True,
    )
