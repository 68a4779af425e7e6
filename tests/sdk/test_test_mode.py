"""Test mode through the official SDKs: lorem, reasoning, several choices, tools, searches, R8."""

import json
from typing import Any

import pytest

from tests.sdk.anthropic.anthropic_client import AnthropicClient
from tests.sdk.client_factories import SYNC_OR_ASYNC
from tests.sdk.clients import MODELS, PROVIDERS, ProviderClient
from tests.sdk.conversations import ConversationOptions, start_conversation
from tests.sdk.errors import ERRORS
from tests.sdk.openai.openai_chat_client import OpenAIChatClient
from tests.serving.modes import CATCH_ALL, with_marks
from tests.support.live_server import Live

# The answer is five words and the echo, so that the pace of test mode costs little time.
SHORT = "Who are you?"
TOOLS = [{"name": "get_weather", "args": {"city": "Paris"}}, {"name": "now", "args": {}}]
MIXED: dict[str, Any] = {
    "id_message": "M",
    "reasoning": {"length": 4},
    "messages": [{"text_message": {"length": 6}}, {"tool_call": TOOLS}, {"text": "done"}],
}
CHAIN = {
    "instruction_chain": [
        {"messages": [{"tool_call": TOOLS[:1]}]},
        {"messages": [{"text": "It is sunny."}]},
    ]
}
SEARCH = {
    "messages": [
        {"server_tool_use": {"name": "web_search", "input": {"query": "q"}}},
        {
            "server_tool_result": {
                "name": "web_search",
                "result": {"search_results": [{"url": "https://a.example", "title": "A"}]},
            }
        },
        {
            "text_with_citations": {
                "text": "It is so.",
                "citations": [{"url": "https://a.example", "title": "A", "cited_text": "so"}],
            }
        },
    ]
}
ARGUMENTS = '{"city":"Paris"}'


@pytest.fixture(autouse=True)
def catch_all(live: Live) -> None:
    live.load(CATCH_ALL)


def openai_request(text: str) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": [{"role": "user", "content": text}]}


def anthropic_request(text: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": text}]
    return {"model": "claude-sonnet-5-5", "max_tokens": 100, "messages": messages}


def test_lorem_with_openai(chat: OpenAIChatClient) -> None:
    streamed = chat.stream(**openai_request(SHORT))
    assert streamed.text.endswith(f" {SHORT}")
    assert len(streamed.text.split()) == 5 + 3
    assert streamed.finish_reasons == ["stop"]
    assert chat.create(**openai_request(SHORT)).choices[0].message.content == streamed.text


def test_lorem_with_anthropic(claude: AnthropicClient) -> None:
    message = claude.create(**anthropic_request(SHORT))
    assert message.content[0].text.endswith(f" {SHORT}")
    assert (
        claude.stream_with_helper(**anthropic_request(SHORT)).final.to_dict()["content"]
        == message.to_dict()["content"]
    )


def test_reasoning_tools_and_several_choices_with_openai(chat: OpenAIChatClient) -> None:
    final = chat.stream_with_helper(**openai_request(with_marks(MIXED))).final
    completion = chat.create(**openai_request(with_marks(MIXED)))
    for answer in (completion, final):
        first, second, third = answer.choices
        assert [c.index for c in answer.choices] == [0, 1, 2]
        assert [c.finish_reason for c in answer.choices] == ["stop", "tool_calls", "stop"]
        assert len((first.message.content or "").split()) == 2 + 6
        assert len(first.message.model_extra["reasoning"].split()) == 2 + 4
        calls = second.message.tool_calls or []
        assert [c.function.name for c in calls] == ["get_weather", "now"]
        assert calls[0].function.arguments == ARGUMENTS
        assert third.message.content == "M done M"


def test_reasoning_tools_and_several_messages_with_anthropic(claude: AnthropicClient) -> None:
    message = claude.create(**anthropic_request(with_marks(MIXED)))
    final = claude.stream_with_helper(**anthropic_request(with_marks(MIXED))).final
    for answer in (message, final):
        kinds = [block.type for block in answer.content]
        assert kinds == ["thinking", "text", "tool_use", "tool_use", "text"]
        assert answer.content[2].input == {"city": "Paris"}
        assert answer.stop_reason == "tool_use"


@pytest.mark.parametrize("mode", SYNC_OR_ASYNC)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_instruction_chain_continues_with_each_answer(live: Live, provider: str, mode: str) -> None:
    conversation = start_conversation(
        live, provider, MODELS[provider], ConversationOptions(mode, False, ("get_weather",))
    )
    first = conversation.send_user_message(with_marks(CHAIN))
    assert provider != "anthropic" or first.answer.stop_reason == "tool_use"
    calls = first.calls
    assert [(call.name, call.arguments) for call in calls] == [("get_weather", {"city": "Paris"})]
    assert conversation.send_tool_results({"get_weather": "sunny"}).text == "It is sunny."
    conversation.calls = calls
    assert conversation.send_tool_results({"get_weather": "again"}).text == "Chain complete."


def test_a_search_with_anthropic_is_typed(either_claude: AnthropicClient) -> None:
    message = either_claude.create(**anthropic_request(with_marks(SEARCH)))
    use, result, text = message.content
    assert (use.type, use.input) == ("server_tool_use", {"query": "q"})
    assert (result.type, result.tool_use_id) == ("web_search_tool_result", use.id)
    assert result.content[0].url == "https://a.example"
    assert text.citations[0].cited_text == "so"


def test_citations_with_openai_are_annotations(chat: OpenAIChatClient) -> None:
    message = chat.create(**openai_request(with_marks(SEARCH))).choices[2].message
    (annotation,) = message.annotations or []
    source = annotation.url_citation
    assert (message.content or "")[source.start_index : source.end_index] == "so"


def test_r8_2_a_cancelled_stream_ends_without_an_error_and_without_its_end(
    chat: OpenAIChatClient, claude: AnthropicClient
) -> None:
    block = with_marks({"messages": [{"text_message": {"length": 40}}], "cancel_after_chunks": 2})
    streamed = chat.stream(**openai_request(block))
    assert len(streamed.text.split()) >= 6
    assert streamed.finish_reasons == []
    final = claude.stream_with_helper(**anthropic_request(block)).final
    assert final.stop_reason is None
    assert final.content[0].text == streamed.text


def test_invalid_instruction_block_raises_a_bad_request(
    client: ProviderClient, provider: str
) -> None:
    block = with_marks({"messages": [{"tool_call": [{"args": {}}]}]})
    for error in client.collect_errors(block):
        kind, status, message, *_ = ERRORS[provider].describe(error)
        assert (kind, status) == (ERRORS[provider].statuses[400][0], 400)
        assert "instruction block: messages[0].tool_call[0].name: missing" in message


def test_tool_calls_of_a_block_are_streamed_unchanged(chat: OpenAIChatClient) -> None:
    streamed = chat.stream(**openai_request(with_marks({"messages": [{"tool_call": TOOLS}]})))
    pieces: dict[int, str] = {}
    for chunk in streamed.chunks:
        for call in chunk.choices[0].delta.tool_calls or []:
            assert call.function is not None
            pieces[call.index] = pieces.get(call.index, "") + (call.function.arguments or "")
    assert {index: json.loads(text) for index, text in pieces.items()} == {
        0: {"city": "Paris"},
        1: {},
    }
