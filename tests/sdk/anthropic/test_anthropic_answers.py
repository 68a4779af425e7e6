"""Scripted answers in Anthropic's client, streamed and not, plain and beta."""

from typing import Any

import anthropic
import pytest

from tests.sdk.anthropic.anthropic_client import HELLO, AnthropicClient
from tests.sdk.scripted import PARIS, PARIS_TEXT, City, load
from tests.serving.pipelines import scenario, text_step
from tests.support.live_server import Live

WEATHER = {"id": "toolu_1", "name": "get_weather", "arguments": {"city": "Paris", "days": [1, 2]}}
TIME = {"id": "toolu_2", "name": "get_time", "arguments": {}}


def list_blocks(message: Any) -> list[dict[str, Any]]:
    """Return the content blocks of a message without empty fields."""
    content: list[dict[str, Any]] = message.to_dict(exclude_none=True)["content"]
    return content


def test_text(live: Live, either_claude: AnthropicClient) -> None:
    load(live, text="Grüße, one two three four five six 🙂.", pacing={"words_per_chunk": 2})
    message = either_claude.create(**HELLO)
    assert list_blocks(message) == [
        {"type": "text", "text": "Grüße, one two three four five six 🙂."}
    ]
    assert (message.role, message.stop_reason, message.stop_sequence) == (
        "assistant",
        "end_turn",
        None,
    )
    assert message.model == "claude-sonnet-5-5" and message.id.startswith("msg_")
    assert message.usage.input_tokens > 0 and message.usage.output_tokens > 0
    streamed = either_claude.stream(**HELLO)
    assert streamed.text == message.content[0].text
    assert streamed.kinds[:2] == ["message_start", "content_block_start"]
    assert streamed.kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert streamed.kinds.count("content_block_delta") == 4
    assert streamed.events[-2].usage.output_tokens == message.usage.output_tokens


def test_the_stream_helper_ends_with_the_whole_answer(
    live: Live, either_claude: AnthropicClient
) -> None:
    load(
        live,
        reasoning=[{"text": "I should look.", "signature": "sig-1"}, {"redacted": "c2VjcmV0"}],
        text="Let me look.",
        tool_calls=[WEATHER, TIME],
        usage={"input_tokens": 64, "output_tokens": 32},
    )
    final = either_claude.stream_with_helper(**HELLO).final
    message = either_claude.create(**HELLO)
    assert list_blocks(final) == list_blocks(message)
    assert list_blocks(message) == [
        {"type": "thinking", "thinking": "I should look.", "signature": "sig-1"},
        {"type": "redacted_thinking", "data": "c2VjcmV0"},
        {"type": "text", "text": "Let me look."},
        {
            **{"type": "tool_use", "id": "toolu_1", "name": "get_weather"},
            **{"input": WEATHER["arguments"], "caller": {"type": "direct"}},
        },
        {
            **{"type": "tool_use", "id": "toolu_2", "name": "get_time"},
            **{"input": {}, "caller": {"type": "direct"}},
        },
    ]
    assert final.stop_reason == message.stop_reason == "tool_use"
    assert (final.usage.input_tokens, final.usage.output_tokens) == (64, 32)
    assert (message.usage.input_tokens, message.usage.output_tokens) == (64, 32)


def test_blocks_stream_one_after_another(live: Live, either_claude: AnthropicClient) -> None:
    load(live, reasoning="Hm.", text="Look.", tool_calls=[WEATHER, TIME])
    events = either_claude.stream(**HELLO).events
    open_block = None
    block_types = []
    for event in events:
        match event.type:
            case "content_block_start":
                assert open_block is None
                open_block = event.index
                block_types.append(event.content_block.type)
            case "content_block_delta":
                assert event.index == open_block
            case "content_block_stop":
                assert event.index == open_block
                open_block = None
    assert block_types == ["thinking", "text", "tool_use", "tool_use"]
    pieces = [e.delta.partial_json for e in events if getattr(e, "index", 0) == 2 and has_json(e)]
    assert pieces[0] == "" and len([piece for piece in pieces if piece]) >= 2


def has_json(event: Any) -> bool:
    return event.type == "content_block_delta" and event.delta.type == "input_json_delta"


def test_helper_emits_text_thinking_signature_and_arguments(
    live: Live, either_claude: AnthropicClient
) -> None:
    load(
        live,
        reasoning=[{"text": "I should look.", "signature": "sig-1"}],
        text="Let me look.",
        tool_calls=[WEATHER],
    )
    events = either_claude.stream_with_helper(**HELLO).events
    events_by_type = {
        kind: [e for e in events if e.type == kind] for kind in {e.type for e in events}
    }
    assert "".join(e.thinking for e in events_by_type["thinking"]) == "I should look."
    assert [e.signature for e in events_by_type["signature"]] == ["sig-1"]
    assert "".join(e.text for e in events_by_type["text"]) == "Let me look."
    assert events_by_type["text"][-1].snapshot == "Let me look."
    assert events_by_type["input_json"][-1].snapshot == WEATHER["arguments"]


def test_a_refusal_and_other_ways_to_stop(live: Live, either_claude: AnthropicClient) -> None:
    load(live, refusal="I will not do that.")
    assert either_claude.create(**HELLO).stop_reason == "refusal"
    load(live, text="Half of", finish_reason="length")
    assert either_claude.stream_with_helper(**HELLO).final.stop_reason == "max_tokens"
    load(live, text="A", finish_reason="stop_sequence", stop_sequence="END")
    created, streamed = (
        either_claude.create(**HELLO),
        either_claude.stream_with_helper(**HELLO).final,
    )
    for message in (created, streamed):
        assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "END")


def test_several_choices_are_one_message(live: Live, either_claude: AnthropicClient) -> None:
    load(live, choices=[{"text": "Heads."}, {"tool_calls": [WEATHER]}])
    created, streamed = (
        either_claude.create(**HELLO),
        either_claude.stream_with_helper(**HELLO).final,
    )
    assert [block["type"] for block in list_blocks(created)] == ["text", "tool_use"]
    assert list_blocks(streamed) == list_blocks(created)


def test_structured_output_is_parsed(live: Live, either_claude: AnthropicClient) -> None:
    load(live, text=PARIS_TEXT)
    final = either_claude.stream_with_helper(**HELLO, output_format=City).final
    assert final.parsed_output == PARIS


def test_tokens_are_counted(live: Live, either_claude: AnthropicClient) -> None:
    request = {key: HELLO[key] for key in ("model", "messages")}
    short = either_claude.count(**request)
    longer = either_claude.count(**request, system="You are a helpful assistant. " * 10)
    assert 0 < short < longer
    assert [(row.path, row.outcome) for row in live.requests()] == [
        ("/v1/messages/count_tokens", "complete")
    ] * 2


def test_models_are_listed_and_retrieved(live: Live, either_claude: AnthropicClient) -> None:
    model = {"model": "claude-of-mine"}
    live.load(scenario("named", {**text_step("Hi!"), "match": model}))
    names = [model.id for model in either_claude.models()]
    assert "claude-sonnet-5-5" in names and "claude-of-mine" in names
    assert len(set(names)) == len(names)
    assert [model.id for model in either_claude.models(limit=2)] == names
    assert either_claude.model("anything/at all").id == "anything/at all"


@pytest.mark.parametrize("header", ["x-api-key", "authorization"])
def test_either_header_takes_the_key(live: Live, claude: AnthropicClient, header: str) -> None:
    load(live, text="Hi!")
    # The client sends a bearer token; older ones send the other header.
    old = {"X-Api-Key": live.key, "Authorization": anthropic.Omit()}
    claude.create(**HELLO, extra_headers=old if header == "x-api-key" else {})
    (row,) = live.requests()
    assert {"x-api-key", "authorization"} & set(row.request_headers) == {header}
