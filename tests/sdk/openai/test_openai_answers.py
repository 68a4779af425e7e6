"""Scripted answers in OpenAI's client, streamed and not."""

import json

import pytest

from tests.sdk.openai.openai_chat_client import HELLO, OpenAIChatClient
from tests.sdk.scripted import PARIS, PARIS_TEXT, City, load
from tests.serving.pipelines import FROZEN
from tests.support.live_server import Live

WEATHER = {"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris", "days": [1, 2]}}
TIME = {"id": "call_2", "name": "get_time", "arguments": {"zone": "Europe/Paris"}}


def test_text(live: Live, chat: OpenAIChatClient) -> None:
    load(live, text="Grüße, one two three four five six 🙂.", pacing={"words_per_chunk": 2})
    completion = chat.create(**HELLO)
    (choice,) = completion.choices
    assert choice.message.content == "Grüße, one two three four five six 🙂."
    assert (choice.finish_reason, choice.message.role) == ("stop", "assistant")
    assert (completion.model, completion.created, completion.object) == (
        "gpt-4o",
        FROZEN,
        "chat.completion",
    )
    assert completion.usage is not None and completion.usage.total_tokens > 0
    streamed = chat.stream(**HELLO)
    assert streamed.text == choice.message.content
    assert streamed.finish_reasons == ["stop"]
    assert len(streamed.chunks) > 5
    assert len({(c.id, c.created, c.model) for c in streamed.chunks}) == 1
    assert streamed.chunks[0].choices[0].delta.role == "assistant"


def test_a_tool_call(live: Live, chat: OpenAIChatClient) -> None:
    load(live, tool_calls=[WEATHER])
    (choice,) = chat.create(**HELLO).choices
    assert choice.finish_reason == "tool_calls" and choice.message.content is None
    assert choice.message.tool_calls is not None
    (call,) = choice.message.tool_calls
    assert call.type == "function"
    assert (call.id, call.function.name) == ("call_1", "get_weather")
    assert json.loads(call.function.arguments) == WEATHER["arguments"]


def test_parallel_tool_calls_stream_under_an_index_each(live: Live, chat: OpenAIChatClient) -> None:
    load(live, text="Looking.", tool_calls=[WEATHER, TIME])
    streamed = chat.stream(**HELLO)
    deltas = [call for c in streamed.chunks for o in c.choices for call in o.delta.tool_calls or ()]
    call_starts = [(d.index, d.id, d.function.name) for d in deltas if d.id and d.function]
    assert call_starts == [(0, "call_1", "get_weather"), (1, "call_2", "get_time")]
    joined = ["", ""]
    pieces = [0, 0]
    for delta in deltas:
        assert delta.function is not None
        joined[delta.index] += delta.function.arguments or ""
        pieces[delta.index] += bool(delta.function.arguments)
    assert [json.loads(text) for text in joined] == [WEATHER["arguments"], TIME["arguments"]]
    assert min(pieces) >= 2
    assert streamed.text == "Looking." and streamed.finish_reasons == ["tool_calls"]


def test_the_stream_helper_ends_with_the_whole_answer(live: Live, chat: OpenAIChatClient) -> None:
    load(live, text="Let me look.", tool_calls=[WEATHER, TIME])
    streamed = chat.stream_with_helper(**HELLO)
    (expected_choice,) = chat.create(**HELLO).choices
    (choice,) = streamed.final.choices
    assert choice.message.content == expected_choice.message.content
    assert choice.finish_reason == expected_choice.finish_reason
    calls, expected_calls = choice.message.tool_calls, expected_choice.message.tool_calls
    assert calls is not None and expected_calls is not None
    assert [(c.id, c.function.name, c.function.arguments) for c in calls] == [
        (c.id, c.function.name, c.function.arguments)
        for c in expected_calls
        if c.type == "function"
    ]
    kinds = [event.type for event in streamed.events]
    assert kinds.count("tool_calls.function.arguments.done") == 2
    assert kinds.count("content.done") == 1


def test_reasoning_comes_before_the_text(live: Live, chat: OpenAIChatClient) -> None:
    load(live, reasoning="First I think.", text="Then I speak.")
    (choice,) = chat.create(**HELLO).choices
    assert choice.message.model_extra is not None
    assert choice.message.model_extra["reasoning"] == "First I think."
    deltas = [c.choices[0].delta for c in chat.stream(**HELLO).chunks]
    extras = [(d.model_extra or {}).get("reasoning", "") for d in deltas]
    assert "".join(extras) == "First I think."
    last_thought = max(i for i, extra in enumerate(extras) if extra)
    first_word = min(i for i, delta in enumerate(deltas) if delta.content)
    assert last_thought < first_word


def test_a_refusal(live: Live, chat: OpenAIChatClient) -> None:
    load(live, refusal="I will not do that.")
    (choice,) = chat.create(**HELLO).choices
    assert (choice.message.refusal, choice.message.content) == ("I will not do that.", None)
    deltas = [c.choices[0].delta for c in chat.stream(**HELLO).chunks]
    assert "".join(d.refusal or "" for d in deltas) == "I will not do that."


def test_n_repeats_the_answer(live: Live, chat: OpenAIChatClient) -> None:
    load(live, text="Again.")
    choices = chat.create(**HELLO, n=3).choices
    assert [(c.index, c.message.content) for c in choices] == [(i, "Again.") for i in range(3)]
    streamed = chat.stream(**HELLO, n=3)
    assert streamed.finish_reasons == ["stop"] * 3
    texts = ["", "", ""]
    for chunk in streamed.chunks:
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
    assert texts == ["Again."] * 3


def test_scripted_choices_differ(live: Live, chat: OpenAIChatClient) -> None:
    load(live, choices=[{"text": "Heads."}, {"tool_calls": [WEATHER]}])
    heads, tails = chat.create(**HELLO).choices
    assert (heads.message.content, heads.finish_reason) == ("Heads.", "stop")
    assert (tails.index, tails.finish_reason) == (1, "tool_calls")
    final = chat.stream_with_helper(**HELLO).final.choices
    assert [c.finish_reason for c in final] == ["stop", "tool_calls"]


def test_usage_is_streamed_only_with_include_usage(live: Live, chat: OpenAIChatClient) -> None:
    load(live, text="Hi!", usage={"input_tokens": 64, "output_tokens": 32})
    assert all(c.usage is None for c in chat.stream(**HELLO).chunks)
    streamed = chat.stream(**HELLO, stream_options={"include_usage": True})
    last = streamed.chunks[-1]
    assert last.choices == [] and last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.completion_tokens) == (64, 32)
    assert last.usage.total_tokens == 96
    assert all(c.usage is None for c in streamed.chunks[:-1])
    assert chat.create(**HELLO).usage == last.usage


def test_structured_output_is_parsed(live: Live, chat: OpenAIChatClient) -> None:
    load(live, text=PARIS_TEXT)
    (choice,) = chat.parse(**HELLO, response_format=City).choices
    assert choice.message.parsed == PARIS
    (choice,) = chat.stream_with_helper(**HELLO, response_format=City).final.choices
    assert choice.message.parsed == PARIS


@pytest.mark.parametrize(
    ("reason", "error"),
    [("length", "LengthFinishReasonError"), ("content_filter", "ContentFilterFinishReasonError")],
)
def test_incomplete_structured_output_raises_a_finish_reason_error(
    live: Live, chat: OpenAIChatClient, reason: str, error: str
) -> None:
    load(live, text='{"name": "Par', finish_reason=reason)
    with pytest.raises(Exception) as raised:
        chat.parse(**HELLO, response_format=City)
    assert type(raised.value).__name__ == error


def test_chunks_arrive_as_they_were_scripted(live: Live, chat: OpenAIChatClient) -> None:
    load(live, chunks=["One ", {"reasoning": "hm"}, "two", ""])
    deltas = [c.choices[0].delta for c in chat.stream(**HELLO).chunks]
    assert [d.content for d in deltas if d.content] == ["One ", "two"]
    assert chat.create(**HELLO).choices[0].message.content == "One two"
