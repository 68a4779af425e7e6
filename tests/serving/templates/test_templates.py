"""Answers that are encoded once: to the byte those that are encoded each time."""

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
    Playing,
    chat,
    claude,
    gemini,
    llama,
    responses,
    says,
    scenario,
)
from tests.support.hypothesis_profiles import often

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
ASK = {
    "responses": responses,
    "openai": chat,
    "anthropic": claude,
    "gemini": gemini,
    "ollama": llama,
}

PRODUCED: tuple[dict[str, Any], ...] = (
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


def each_time(playing: Playing) -> Playing:
    """The same pipeline without templates."""
    playing.pipeline.templates.encode = (  # type: ignore[method-assign]
        lambda exchange, decision, request, encode: encode(exchange, decision, request)
    )
    return playing


async def answers(playing: Playing, calls: list[Call]) -> list[Any]:
    """All that is promised of the answers to these calls, one after the other."""
    got = []
    for call in calls:
        answer = await playing.pipeline.answer(call)
        reply = answer.reply
        headers = [header for header in reply.headers if header[0] != "x-mockllm-request"]
        frames = [(frame.at, frame.data) for frame in reply.frames]
        body = b"".join([piece async for piece in answer.pieces()])
        got.append((reply.status, headers, frames, reply.delay, reply.cut, body))
    return got


@st.composite
def conversations(draw: st.DrawFn) -> tuple[dict[str, Any], list[Call]]:
    wire = draw(st.sampled_from(sorted(OPTIONS)))
    produce = draw(st.sampled_from(PRODUCED))
    step = {"consume": False, "produce": produce, "side_effects": draw(st.sampled_from(EFFECTS))}
    few = draw(st.lists(st.sampled_from(OPTIONS[wire]), min_size=1, max_size=3))
    asked = draw(st.lists(st.sampled_from(few), min_size=4, max_size=12))
    return scenario("s", step), [ASK[wire](**options) for options in asked]


@settings(max_examples=often(1_000))
@given(conversations())
def test_every_answer_is_the_one_that_is_encoded_each_time(given: Any) -> None:
    document, calls = given
    options = {"words_per_second": 0}

    async def both() -> tuple[list[Any], list[Any]]:
        ours = await answers(Playing(document, **options), calls)
        return ours, await answers(each_time(Playing(document, **options)), calls)

    prepared, encoded = asyncio.run(both())
    assert prepared == encoded


@pytest.mark.parametrize("asked", [chat(), chat(stream=True), claude(), claude(stream=True)])
async def test_third_equal_request_is_not_encoded_again(
    asked: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    playing = Playing(scenario("s", says("Hi! " * 20)))
    made: list[Seed] = []
    reply = TemplateCache.encode

    def watched(self: Any, exchange: Any, decision: Any, request: Any, make: Any) -> Reply:
        def counted(exchange: Any, *rest: Any) -> Reply:
            made.append(exchange.seed)
            answer: Reply = make(exchange, *rest)
            return answer

        return reply(self, exchange, decision, request, counted)

    monkeypatch.setattr(TemplateCache, "encode", watched)
    for _ in range(2):
        await playing.ask(asked)
    assert len(made) == 4
    for _ in range(5):
        await playing.ask(asked)
    assert len(made) == 4


async def test_delayed_frames_are_rendered_when_sent() -> None:
    step = says("a b c d", match={})
    step["produce"]["pacing"] = {"chunk_ms": 1, "words_per_chunk": 1}
    playing = Playing(scenario("s", step))
    kinds = []
    for _ in range(3):
        answer = await playing.pipeline.answer(chat(stream=True))
        kinds.append(type(answer.reply.frames))
        assert isinstance(next(iter(answer.reply.frames)), Frame)
    assert kinds == [tuple, tuple, RenderedFrames]


@pytest.mark.parametrize("stream", [False, True])
async def test_journal_body_of_a_cached_response_holds_no_bytes(
    stream: bool,
) -> None:
    playing = Playing(scenario("s", says("Once upon a time. " * 20)))
    bodies = [(await playing.ask(chat(stream=stream)))[2] for _ in range(4)]
    kept = [entry.response_body for entry in playing.journal]
    assert [held_bytes(body) for body in kept] == [len(bodies[0]), len(bodies[1]), 0, 0]
    assert [b"".join(body) for body in kept] == bodies
    rows = [row_of(entry, body_bytes=200) for entry in playing.journal]
    assert [row.response_text for row in rows] == [body[:200].decode() for body in bodies]
    assert [row.response_bytes for row in rows] == list(map(len, bodies))


async def test_of_a_filled_answer_that_broke_off_the_journal_has_what_left() -> None:
    step = says("a b c d", match={})
    step["produce"]["pacing"] = {"chunk_ms": 1, "words_per_chunk": 1}
    playing = Playing(scenario("s", step))
    for _ in range(2):
        await playing.ask(chat(stream=True))
    answer = await playing.pipeline.answer(chat(stream=True))
    assert isinstance(answer.reply.frames, RenderedFrames)
    first = b""
    async with aclosing(answer.pieces()) as pieces:
        async for piece in pieces:
            first += piece
            if first:
                break
    (*_, entry) = playing.journal
    assert (entry.outcome, b"".join(entry.response_body)) == ("client_gone", first)


async def test_an_edited_step_answers_with_its_new_text() -> None:
    playing = Playing(scenario("s", says("old")))
    for _ in range(3):
        assert b"old" in (await playing.ask(chat()))[2]
    playing.catalog.index = Playing(scenario("s", says("new"))).catalog.index
    for _ in range(3):
        assert b"new" in (await playing.ask(chat()))[2]


async def test_template_has_the_time_of_each_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    playing = Playing(scenario("s", says("Hi!")), clock=None)
    kinds = []
    for second in range(1_800_000_000, 1_800_000_004):
        monkeypatch.setattr(playing.pipeline, "new_exchange", _at(playing, second))
        answer = await playing.pipeline.answer(chat())
        kinds.append(type(answer.reply.frames))
        assert b'"created":%d' % second in answer.reply.body
    assert kinds == [tuple, tuple, RenderedFrames, RenderedFrames]


async def test_template_counts_the_tokens_of_each_request() -> None:
    playing = Playing(scenario("s", says("Hi!")))
    for length in (4, 40, 400, 4_000, 40_000):
        _, headers, body = await playing.ask(chat("a" * length))
        usage = json.loads(body)["usage"]
        assert usage["prompt_tokens"] == length // 4
        assert usage["total_tokens"] == length // 4 + usage["completion_tokens"]
        assert headers["content-length"] == str(len(body))
    assert len(playing.pipeline.templates._entries) == 1


def _at(playing: Playing, now: int) -> Any:
    def exchange(call: Call, head: Any) -> Any:
        made = type(playing.pipeline).new_exchange(playing.pipeline, call, head)
        made.created = now
        return made

    return exchange


async def test_only_so_many_bytes_of_answers_are_kept() -> None:
    playing = Playing(scenario("s", says("Hi! " * 500)))
    cache = playing.pipeline.templates = TemplateCache(max_bytes=10_000)
    for number in range(10):
        for _ in range(4):
            await playing.ask(chat(model=f"m{number}"))
        assert 0 < cache._bytes <= 10_000
        assert cache._bytes == sum(entry.size for entry in cache._entries.values())


async def test_long_names_of_models_count_towards_the_bytes() -> None:
    playing = Playing(scenario("s", says("Hi!")))
    cache = playing.pipeline.templates = TemplateCache(max_bytes=10_000)
    for number in range(10):
        for _ in range(3):
            await playing.ask(chat(model=f"{number}" * 4_000))
    assert len(cache._entries) <= 2


async def test_only_so_many_answers_are_kept() -> None:
    playing = Playing(scenario("s", says("Hi!")))
    playing.pipeline.templates = TemplateCache(max_responses=3)
    for number in range(10):
        for _ in range(3):
            await playing.ask(chat(model=f"m{number}"))
        assert len(playing.pipeline.templates._entries) <= 3
    assert MAX_RESPONSES > 3


def test_answers_are_prepared_on_the_wires_that_are_asked_most() -> None:
    forms = {
        endpoint.canonical for wire in wires() for endpoint in wire.endpoints if endpoint.cache_key
    }
    assert {"/v1/chat/completions", "/v1/messages"} <= forms
