"""Answers from templates equal newly encoded ones byte for byte."""

import asyncio
import json
from contextlib import aclosing
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.engine.journal_entry import clean_entry, held_bytes
from scenarios_app.engine.producing.produce import Seed
from scenarios_app.serving.exchange import ArrivalClock, Exchange, head_of
from scenarios_app.serving.fast import short_path
from scenarios_app.serving.fast.slots import (
    SAMPLE_CREATED,
    SAMPLE_SEED,
    SAMPLE_TOKENS,
    SAMPLE_UID,
)
from scenarios_app.serving.fast.templates import MAX_RESPONSES, TemplateCache, TemplateFrames
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.reply import Reply
from scenarios_app.serving.respond import respond
from scenarios_app.wire.base import Call
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
PACED_STEP = text_step("a b c d", match={})
PACED_STEP["produce"]["pacing"] = {"chunk_ms": 1, "words_per_chunk": 1}
EFFECTS: tuple[dict[str, Any], ...] = (
    {},
    {"status": 202, "headers": {"x-extra": "1"}},
    {"echo_headers": ["x-echo"]},
    {"counter": "n"},
)


async def collect_answers(harness: Harness, calls: list[Call], *, fast: bool) -> list[Any]:
    """Return the comparable parts of the answers to these calls, in order."""
    parts = []
    for call in calls:
        if fast:
            reply, body, _ = await harness.ask_fast(call)
        else:
            answer = await harness.pipeline.answer(call)
            reply = answer.reply
            body = b"".join([piece async for piece in answer.pieces()])
        headers = [header for header in reply.headers if header[0] != "x-mockllm-request"]
        frames = [(frame.at, frame.data) for frame in reply.frames]
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

    async def answer_both() -> list[list[Any]]:
        return [
            await collect_answers(Harness(document, words_per_second=0), calls, fast=fast)
            for fast in (True, False)
        ]

    from_templates, encoded = asyncio.run(answer_both())
    assert from_templates == encoded


@pytest.mark.parametrize("call", [chat(), chat(stream=True), claude(), claude(stream=True)])
async def test_kind_of_answer_is_encoded_twice(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness(scenario("s", text_step("Hi! " * 20)))
    encoded_seeds: list[Seed] = []

    def record_encoding(exchange: Exchange, *rest: Any) -> Reply:
        encoded_seeds.append(exchange.seed)
        return respond(exchange, *rest)

    monkeypatch.setattr(short_path, "respond", record_encoding)
    answers = [await harness.ask_fast(call) for _ in range(6)]
    assert [answer.way for answer in answers] == ["short path", *["template"] * 5]
    assert encoded_seeds[1:] == [SAMPLE_SEED]


async def test_paced_frames_are_rendered_when_sent() -> None:
    harness = Harness(scenario("s", PACED_STEP))
    answers = [await harness.ask_fast(chat(stream=True)) for _ in range(3)]
    assert [type(answer.reply.frames) for answer in answers] == [tuple, *[TemplateFrames] * 2]
    assert [answer.way for answer in answers] == ["short path"] * 3
    assert len(set(map(len, (answer.body for answer in answers)))) == 1


async def test_paced_answer_takes_a_stream_until_its_end() -> None:
    harness = Harness(scenario("s", PACED_STEP), max_streams=1)
    call = chat(stream=True)
    for _ in range(3):
        answer = harness.short_path.answer(head_of(call), call)
        assert isinstance(answer, Answer)
        assert harness.short_path.answer(head_of(call), call) is None
        answer.finish()
    assert harness.pipeline.streams.taken == 0


@pytest.mark.parametrize("stream", [False, True])
async def test_journal_body_of_an_answer_is_what_was_sent(stream: bool) -> None:
    harness = Harness(scenario("s", text_step("Once upon a time. " * 20)))
    bodies = [(await harness.ask_fast(chat(stream=stream))).body for _ in range(4)]
    assert [b"".join(entry.response_body) for entry in harness.journal] == bodies
    rows = [clean_entry(entry, body_bytes=200) for entry in harness.journal]
    assert [row.response_body for row in rows] == [body[:200].decode() for body in bodies]
    assert [row.response_bytes for row in rows] == list(map(len, bodies))


async def test_journal_of_a_paced_template_answer_holds_no_bytes() -> None:
    harness = Harness(scenario("s", PACED_STEP))
    bodies = [(await harness.ask_fast(chat(stream=True))).body for _ in range(3)]
    held = [held_bytes(entry.response_body) for entry in harness.journal]
    assert held == [len(bodies[0]), 0, 0]


async def test_journal_of_a_cut_template_answer_has_the_sent_bytes() -> None:
    harness, call = Harness(scenario("s", PACED_STEP)), chat(stream=True)
    for _ in range(2):
        await harness.ask_fast(call)
    answer = harness.short_path.answer(head_of(call), call)
    assert isinstance(answer, Answer) and isinstance(answer.reply.frames, TemplateFrames)
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
        assert b"old" in (await harness.ask_fast(chat())).body
    harness.catalog.index = Harness(scenario("s", text_step("new"))).catalog.index
    for _ in range(3):
        assert b"new" in (await harness.ask_fast(chat())).body


async def test_template_has_the_time_of_each_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness(scenario("s", text_step("Hi!")), clock=None)
    for second in range(1_800_000_000, 1_800_000_004):
        clock = ArrivalClock(partial(float, second))
        monkeypatch.setattr(short_path, "arrival_clock", clock)
        answer = await harness.ask_fast(chat())
        assert b'"created":%d' % second in answer.body
    assert answer.way == "template"


async def test_template_counts_the_tokens_of_each_request() -> None:
    harness = Harness(scenario("s", text_step("Hi!")))
    for length in (4, 40, 400, 4_000, 16_000):
        answer = await harness.ask_fast(chat("a" * length))
        usage = json.loads(answer.body)["usage"]
        assert usage["prompt_tokens"] == length // 4
        assert usage["total_tokens"] == length // 4 + usage["completion_tokens"]
        assert dict(answer.reply.headers)["content-length"] == str(len(answer.body))
    assert answer.way == "template"
    assert len(harness.short_path.templates._entries) == 1


@pytest.mark.parametrize(
    "text", [f"{SAMPLE_TOKENS}", f"{SAMPLE_CREATED}", "2096-10-02T07:06:40", SAMPLE_UID]
)
async def test_answer_with_the_text_of_a_sample_gets_no_template(text: str) -> None:
    harness = Harness(scenario("s", text_step(f"It is {text}.")))
    answers = [await harness.ask_fast(chat()) for _ in range(4)]
    assert [answer.way for answer in answers] == ["short path", *["pipeline"] * 3]
    assert all(text.encode() in answer.body for answer in answers)


async def test_error_of_a_first_answer_is_a_500(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness(scenario("s", text_step("Hi!")))

    def fail(*_: object) -> Reply:
        raise RuntimeError("not encoded")

    monkeypatch.setattr(short_path, "respond", fail)
    answer = await harness.ask_fast(chat())
    assert (answer.reply.status, answer.way) == (500, "short path")
    assert [entry.status for entry in harness.journal] == [500]


async def test_template_cache_is_limited_by_bytes() -> None:
    harness = Harness(scenario("s", text_step("Hi! " * 500)))
    cache = harness.short_path.templates = TemplateCache(max_bytes=10_000)
    for number in range(10):
        for _ in range(4):
            await harness.ask_fast(chat(model=f"m{number}"))
        assert 0 < cache._bytes <= 10_000
        assert cache._bytes == sum(entry.size for entry in cache._entries.values())


async def test_long_names_of_models_count_towards_the_bytes() -> None:
    harness = Harness(scenario("s", text_step("Hi!")))
    cache = harness.short_path.templates = TemplateCache(max_bytes=10_000)
    for number in range(10):
        for _ in range(3):
            await harness.ask_fast(chat(model=f"{number}" * 4_000))
    assert len(cache._entries) <= 2


async def test_template_cache_is_limited_by_responses() -> None:
    harness = Harness(scenario("s", text_step("Hi!")))
    cache = harness.short_path.templates = TemplateCache(max_responses=3)
    for number in range(10):
        for _ in range(3):
            await harness.ask_fast(chat(model=f"m{number}"))
        assert len(cache._entries) <= 3
    assert MAX_RESPONSES > 3
