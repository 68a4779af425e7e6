"""Answers from templates equal newly encoded ones byte for byte."""

import asyncio
import json
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.engine.producing.produce import Seed
from scenarios_app.journal.entry import held_bytes, row_of
from scenarios_app.serving.reply import Frame, RenderedFrames, Reply
from scenarios_app.serving.templates import MAX_RESPONSES, TemplateCache
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import wires
from tests.serving.pipelines import (
    Harness,
    chat,
    claude,
    gemini,
    llama,
    responses,
    scenario,
    text_step,
)
from tests.support.hypothesis_profiles import example_count

TOOL: dict[str, Any] = {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}
EXEC = [{"type": "custom", "name": "exec"}]
FUNCTIONS = [{"type": "namespace", "name": "functions", "tools": [{**TOOL, "name": "exec"}]}]
HELLO = {"role": "user", "content": "Hello"}
OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "openai": (
        {},
        {"stream": True},
        {"stream": True, "stream_options": {"include_usage": True}},
        {"n": 2},
        {"functions": [TOOL]},
        {"tools": [{"type": "function", "function": TOOL}], "tool_choice": "auto"},
        {"tools": [{"type": "custom", "custom": {"name": "get_weather"}}]},
        {"tools": [{"type": "custom", "custom": {"name": "exec"}}], "stream": True},
        {"tools": [{"type": "function", "function": {"name": "exec"}}]},
        {"reasoning_effort": "high", "verbosity": "low", "logprobs": True, "top_logprobs": 2},
        {"response_format": {"type": "json_object"}, "service_tier": "flex", "store": True},
        {"metadata": {"a": "b"}, "user": "u", "max_tokens": 3, "stop": ["a"], "seed": 7},
        {"headers": {"x-echo": "one", "user-agent": "a"}},
        {"headers": {"x-echo": "two", "x-mockllm-session": "other"}},
        {"model": "gpt-5"},
        {"model": "deepseek-chat"},
        {"headers": {"x-mockllm-dialect": "openrouter"}, "stream": True},
        {"headers": {"x-mockllm-dialect": "mistral"}},
        {"stream": True, "stream_options": {"include_obfuscation": False}},
        {"text": "Hello, how are you today, my dear?"},
        {"text": "Hullo"},
    ),
    "anthropic": (
        {},
        {"stream": True},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2048},
        {"tools": [{"name": "get_weather", "input_schema": {"type": "object"}}]},
        {"tool_choice": {"type": "any"}, "stop_sequences": ["a"], "metadata": {"user_id": "u"}},
        {"service_tier": "standard_only", "stream": True},
        {"headers": {"anthropic-beta": "context-1m-2025-08-07", "x-echo": "one"}},
        {"system": "Be brief.", "temperature": 0.5},
        {"model": "claude-opus-4-1"},
        {"model": "claude-opus-5", "inference_geo": "us"},
        {"context_management": {"edits": []}, "stream": True},
        {"text": "Hullo"},
    ),
    "gemini": (
        {},
        {"stream": True},
        {"thinking": {"includeThoughts": True}},
        {"thinking": {"thinkingBudget": 7}},
        {"cachedContent": "cachedContents/abc"},
        {"tools": [{"functionDeclarations": [TOOL]}]},
        {"model": "gemini-3-flash-preview", "stream": True},
        {"n": 2},
        {"max_tokens": 3, "temperature": 0.5},
        {"model": "gemini-3-pro"},
    ),
    "responses": (
        {},
        {"stream": True},
        {"instructions": "Be brief.", "metadata": {"a": "b"}},
        {"store": False, "stream": True, "user": "u"},
        {"tools": [{"type": "function", **TOOL}], "tool_choice": "auto"},
        {"tools": [{"type": "custom", "name": "exec"}], "stream": True},
        {"tools": [{"type": "namespace", "name": "shell", "tools": EXEC}]},
        {"messages": [{"type": "additional_tools", "tools": EXEC}, HELLO], "stream": True},
        {"messages": [{"type": "additional_tools", "tools": FUNCTIONS}, HELLO]},
        {"temperature": 0.5, "top_p": 0.5, "max_output_tokens": 9},
        {"model": "gpt-5"},
        {"stream": True, "stream_options": {"include_obfuscation": False}},
        {"include": ["message.output_text.logprobs"], "top_logprobs": 2},
        {"text": "Hullo"},
        {"text": 'Zürich \u2028 with a "quote" and more of it'},
        {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]},
    ),
    "ollama": ({"stream": False}, {"stream": True}, {"think": True, "stream": False}),
}
REQUEST_BUILDERS = {
    "responses": responses,
    "openai": chat,
    "anthropic": claude,
    "gemini": gemini,
    "ollama": llama,
}

PRODUCE_SAMPLES: tuple[dict[str, Any], ...] = (
    {"text": "Hi there! " * 9},
    {"text": "Hi, {{ request.last_user_text }}!"},
    {"reasoning": "Let me think.", "text": "Done."},
    {"reasoning": [{"text": "Hm.", "signature": "s1"}], "text": "Done."},
    {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}] * 3},
    {"text": "So:", "tool_calls": [{"id": "call_1", "name": "get_weather", "arguments": {}}]},
    {"tool_calls": [{"name": "get_weather", "arguments": {"a": "{{ request.model }}"}}]},
    {"tool_calls": [{"name": "exec", "input": 'say("Zürich")'}]},
    {"tool_calls": [{"name": "exec", "input": "{{ request.model }}", "namespace": "functions"}]},
    {"chunks": ["a", {"tool_call": {"name": "exec", "input": 'b "c'}}]},
    {"refusal": "No."},
    {"choices": [{"text": "one"}, {"text": "two", "finish_reason": "length"}]},
    {"chunks": ["a", "b ", {"tool_call": {"name": "f", "arguments": "{}"}}]},
    {"text": "Hi", "usage": {"input_tokens": 5, "output_tokens": 7}},
    {"text": "Hi", "provider_metadata": {"openai": {"service_tier": "x"}, "any": {"b": 1}}},
    {"text": "a b c d e", "pacing": {"chunk_ms": 1, "words_per_chunk": 1}},
    {"text": "a b c d", "pacing": {"words_per_second": 900, "words_per_chunk": 1, "jitter": 1}},
    {"text": "late", "latency_ms": 1},
    {"text": "a b c d", "fault": {"kind": "error_event", "after_chunks": 1}},
    {"text": "a b c d", "fault": {"kind": "truncate", "after_chunks": 1}},
    {"fault": {"kind": "rate_limit", "retry_after_ms": 1500}},
    {"text": "a", "fault": {"kind": "malformed_chunk"}},
    {"raw": {"status": 418, "headers": {"x-a": "b"}, "body": {"a": 1}}},
    {"generate": {"kind": "lorem"}},
    {"streaming": {"text": "streamed"}, "non_streaming": {"text": "whole"}},
)
EFFECTS: tuple[dict[str, Any], ...] = (
    {},
    {"status": 202, "headers": {"x-extra": "1"}},
    {"echo_headers": ["x-echo"]},
    {"counter": "n"},
)


def without_templates(harness: Harness) -> Harness:
    """Make the pipeline encode each answer anew and return its harness."""
    harness.pipeline.templates.encode = lambda exchange, decision, request, encode: encode(
        exchange, decision, request
    )
    return harness


async def collect_answers(harness: Harness, calls: list[Call]) -> list[Any]:
    """Return the comparable parts of the answers to these calls, in order."""
    parts = []
    for call in calls:
        answer = await harness.pipeline.answer(call)
        reply = answer.reply
        headers = [header for header in reply.headers if header[0] != "x-mockllm-request"]
        frames = [(frame.at, frame.data) for frame in reply.frames]
        body = b"".join([piece async for piece in answer.pieces()])
        parts.append((reply.status, headers, frames, reply.delay, reply.cut, body))
    return parts


@st.composite
def conversations(draw: st.DrawFn) -> tuple[dict[str, Any], list[Call]]:
    wire = draw(st.sampled_from(sorted(OPTIONS)))
    produce = draw(st.sampled_from(PRODUCE_SAMPLES))
    step = {"consume": False, "produce": produce, "side_effects": draw(st.sampled_from(EFFECTS))}
    repeated_options = draw(st.lists(st.sampled_from(OPTIONS[wire]), min_size=1, max_size=3))
    call_options = draw(st.lists(st.sampled_from(repeated_options), min_size=4, max_size=12))
    return scenario("s", step), [REQUEST_BUILDERS[wire](**options) for options in call_options]


@settings(max_examples=example_count(1_000))
@given(conversations())
def test_every_answer_equals_a_newly_encoded_one(conversation: Any) -> None:
    document, calls = conversation
    options = {"words_per_second": 0}

    async def answer_both() -> tuple[list[Any], list[Any]]:
        template_answers = await collect_answers(Harness(document, **options), calls)
        return template_answers, await collect_answers(
            without_templates(Harness(document, **options)), calls
        )

    from_templates, encoded = asyncio.run(answer_both())
    assert from_templates == encoded


@pytest.mark.parametrize("call", [chat(), chat(stream=True), claude(), claude(stream=True)])
async def test_third_equal_request_is_not_encoded_again(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = Harness(scenario("s", text_step("Hi! " * 20)))
    encoded_seeds: list[Seed] = []
    original_encode = TemplateCache.encode

    def record_encoding(
        self: Any, exchange: Any, decision: Any, request: Any, encode: Any
    ) -> Reply:
        def encode_and_count(exchange: Any, *rest: Any) -> Reply:
            encoded_seeds.append(exchange.seed)
            answer: Reply = encode(exchange, *rest)
            return answer

        return original_encode(self, exchange, decision, request, encode_and_count)

    monkeypatch.setattr(TemplateCache, "encode", record_encoding)
    for _ in range(2):
        await harness.ask(call)
    assert len(encoded_seeds) == 4
    for _ in range(5):
        await harness.ask(call)
    assert len(encoded_seeds) == 4


async def test_delayed_frames_are_rendered_when_sent() -> None:
    step = text_step("a b c d", match={})
    step["produce"]["pacing"] = {"chunk_ms": 1, "words_per_chunk": 1}
    harness = Harness(scenario("s", step))
    kinds = []
    for _ in range(3):
        answer = await harness.pipeline.answer(chat(stream=True))
        kinds.append(type(answer.reply.frames))
        assert isinstance(next(iter(answer.reply.frames)), Frame)
    assert kinds == [tuple, tuple, RenderedFrames]


@pytest.mark.parametrize("stream", [False, True])
async def test_journal_body_of_a_cached_response_holds_no_bytes(
    stream: bool,
) -> None:
    harness = Harness(scenario("s", text_step("Once upon a time. " * 20)))
    bodies = [(await harness.ask(chat(stream=stream)))[2] for _ in range(4)]
    journal_bodies = [entry.response_body for entry in harness.journal]
    assert [held_bytes(body) for body in journal_bodies] == [len(bodies[0]), len(bodies[1]), 0, 0]
    assert [b"".join(body) for body in journal_bodies] == bodies
    rows = [row_of(entry, body_bytes=200) for entry in harness.journal]
    assert [row.response_text for row in rows] == [body[:200].decode() for body in bodies]
    assert [row.response_bytes for row in rows] == list(map(len, bodies))


async def test_journal_of_a_cut_template_answer_has_the_sent_bytes() -> None:
    step = text_step("a b c d", match={})
    step["produce"]["pacing"] = {"chunk_ms": 1, "words_per_chunk": 1}
    harness = Harness(scenario("s", step))
    for _ in range(2):
        await harness.ask(chat(stream=True))
    answer = await harness.pipeline.answer(chat(stream=True))
    assert isinstance(answer.reply.frames, RenderedFrames)
    sent_bytes = b""
    async with aclosing(answer.pieces()) as pieces:
        async for piece in pieces:
            sent_bytes += piece
            if sent_bytes:
                break
    (*_, entry) = harness.journal
    assert (entry.outcome, b"".join(entry.response_body)) == ("client_gone", sent_bytes)


async def test_an_edited_step_answers_with_its_new_text() -> None:
    harness = Harness(scenario("s", text_step("old")))
    for _ in range(3):
        assert b"old" in (await harness.ask(chat()))[2]
    harness.catalog.index = Harness(scenario("s", text_step("new"))).catalog.index
    for _ in range(3):
        assert b"new" in (await harness.ask(chat()))[2]


async def test_template_has_the_time_of_each_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness(scenario("s", text_step("Hi!")), clock=None)
    kinds = []
    for second in range(1_800_000_000, 1_800_000_004):
        monkeypatch.setattr(harness.pipeline, "new_exchange", _exchange_at(harness, second))
        answer = await harness.pipeline.answer(chat())
        kinds.append(type(answer.reply.frames))
        assert b'"created":%d' % second in answer.reply.body
    assert kinds == [tuple, tuple, RenderedFrames, RenderedFrames]


async def test_template_counts_the_tokens_of_each_request() -> None:
    harness = Harness(scenario("s", text_step("Hi!")))
    for length in (4, 40, 400, 4_000, 40_000):
        _, headers, body = await harness.ask(chat("a" * length))
        usage = json.loads(body)["usage"]
        assert usage["prompt_tokens"] == length // 4
        assert usage["total_tokens"] == length // 4 + usage["completion_tokens"]
        assert headers["content-length"] == str(len(body))
    assert len(harness.pipeline.templates._entries) == 1


def _exchange_at(harness: Harness, now: int) -> Any:
    def exchange(call: Call, head: Any) -> Any:
        new_exchange = type(harness.pipeline).new_exchange(harness.pipeline, call, head)
        new_exchange.created = now
        return new_exchange

    return exchange


async def test_template_cache_is_limited_by_bytes() -> None:
    harness = Harness(scenario("s", text_step("Hi! " * 500)))
    cache = harness.pipeline.templates = TemplateCache(max_bytes=10_000)
    for number in range(10):
        for _ in range(4):
            await harness.ask(chat(model=f"m{number}"))
        assert 0 < cache._bytes <= 10_000
        assert cache._bytes == sum(entry.size for entry in cache._entries.values())


async def test_long_names_of_models_count_towards_the_bytes() -> None:
    harness = Harness(scenario("s", text_step("Hi!")))
    cache = harness.pipeline.templates = TemplateCache(max_bytes=10_000)
    for number in range(10):
        for _ in range(3):
            await harness.ask(chat(model=f"{number}" * 4_000))
    assert len(cache._entries) <= 2


async def test_template_cache_is_limited_by_responses() -> None:
    harness = Harness(scenario("s", text_step("Hi!")))
    harness.pipeline.templates = TemplateCache(max_responses=3)
    for number in range(10):
        for _ in range(3):
            await harness.ask(chat(model=f"m{number}"))
        assert len(harness.pipeline.templates._entries) <= 3
    assert MAX_RESPONSES > 3


def test_most_used_endpoints_have_a_template_cache_key() -> None:
    forms = {
        endpoint.canonical for wire in wires() for endpoint in wire.endpoints if endpoint.cache_key
    }
    assert {"/v1/chat/completions", "/v1/messages"} <= forms
