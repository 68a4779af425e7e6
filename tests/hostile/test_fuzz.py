"""Bodies that are wrong at any place: refused in the provider's own words, through both doors."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.serving.transports import django as view
from scenarios_app.serving.transports.asgi import ProviderApp
from tests.hostile.asked_ways import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    GENERATE,
    LOCAL,
    MESSAGES,
    OLLAMA,
    OPENAI,
)
from tests.hostile.inprocess import through
from tests.hostile.raw import Answer
from tests.serving.pipelines import Playing, says, scenario
from tests.support.hypothesis_profiles import often
from tests.wire.anthropic.test_anthropic_sdk import BETA_MESSAGE_ARGUMENTS
from tests.wire.envelopes import envelope_complaint
from tests.wire.full_request_bodies import CONTENTS

ANYTHING = scenario("anything", says("You said {{ request.last_user_text }}."))
# With none of these values a request waits for its answer.
WRONG: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 10**30, "", "x", "\0", "user", "tool"),
    *([], [[]], [None], {}, {"type": "text"}, {"a": {"b": [1]}}),
)
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKED: dict[str, Any] = {
    "model": "gpt-4o",
    "messages": [
        {"role": "developer", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Hello"},
                {"type": "image_url", "image_url": {"url": "data:,"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "reasoning": "Hm.",
            "tool_calls": [
                CALL,
                {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "x"}},
            ],
            "function_call": {"name": "f", "arguments": "{}"},
        },
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "fine"}]},
        {"role": "function", "name": "f", "content": "old"},
        {"role": "user", "content": "And now?"},
    ],
    "tools": [TOOL, {"type": "custom", "custom": {"name": "g", "format": {"type": "text"}}}],
    "functions": [{"name": "h", "description": "d", "parameters": {}}],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {}}},
    "stream_options": {"include_usage": True},
    "stop": ["a", "b"],
    "metadata": {"k": "v"},
    "logit_bias": {"1": 2},
    "n": 2,
    "max_completion_tokens": 5,
    "temperature": 0.5,
    "top_p": 1,
    "seed": 7,
    "reasoning": {"enabled": True},
    "reasoning_effort": "low",
    "stream": False,
    "user": "u",
}
OLLAMA_ASKED: dict[str, Any] = {
    "model": "llama3.2",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello", "images": ["AAAA"]},
        {
            "role": "assistant",
            "content": "",
            "thinking": "Hm.",
            "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"a": [1]}}}],
        },
        {"role": "tool", "tool_name": "f", "tool_call_id": "c1", "content": "fine"},
        {"role": "user", "content": "And now?"},
    ],
    "tools": [TOOL],
    "options": {
        "temperature": 0.5,
        "top_p": 1,
        "num_predict": 5,
        "num_ctx": 100,
        "seed": 7,
        "stop": ["a", "b"],
    },
    "format": {"type": "object", "properties": {}},
    "think": "low",
    "keep_alive": "5m",
    "logprobs": True,
    "top_logprobs": 2,
    "stream": False,
}
GENERATE_ASKED: dict[str, Any] = {
    **{key: OLLAMA_ASKED[key] for key in ("model", "options", "format", "think", "keep_alive")},
    "prompt": "Hello",
    "suffix": "!",
    "system": "Be brief.",
    "template": "{{ .Prompt }}",
    "context": [1, 2, 3],
    "images": ["AAAA"],
    "raw": False,
    "stream": True,
}
EMBED_ASKED: dict[str, Any] = {
    "model": "nomic-embed-text",
    "input": ["one", "two"],
    "truncate": True,
    "dimensions": 4,
    "options": {"num_ctx": 100},
    "keep_alive": 5,
}
REQUESTS: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "openai": (CHAT, OPENAI, ASKED),
    "anthropic": (MESSAGES, ANTHROPIC, BETA_MESSAGE_ARGUMENTS),
    "gemini": (GENERATE, GEMINI, CONTENTS),
    "gemini embed": (
        "/v1/models/m:batchEmbedContents",
        GEMINI,
        {"requests": CONTENTS["requests"] * 4},
    ),
    "ollama": (LOCAL, OLLAMA, OLLAMA_ASKED),
    "ollama generate": ("/api/generate", OLLAMA, GENERATE_ASKED),
    "ollama embed": ("/api/embed", OLLAMA, EMBED_ASKED),
}
playing = Playing(ANYTHING)
DOOR = ProviderApp(playing.running)


def broken(value: Any) -> Iterator[Any]:
    """A value with each place in it taken away, and with each wrong thing in each place."""
    yield from WRONG
    if isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
            for inner in broken(value[key]):
                yield {**value, key: inner}
    elif isinstance(value, list):
        for i, item in enumerate(value):
            for inner in broken(item):
                yield [*value[:i], inner, *value[i + 1 :]]


def assert_answered(provider: str, body: bytes, answer: Answer) -> None:
    assert answer.status in (200, 400, 404), (body, answer)
    if answer.status == 200:
        assert answer.body
    else:
        provider = provider.partition(" ")[0]
        assert envelope_complaint(provider, answer.json()) == "", (body, answer)


@pytest.mark.parametrize("provider", REQUESTS)
async def test_wrong_things_at_every_place(provider: str) -> None:
    path, headers, asked = REQUESTS[provider]
    statuses: set[int] = set()
    bodies = list(broken(asked))
    for body in bodies:
        data = json.dumps(body).encode()
        answer = await through(DOOR, "POST", path, data, headers=headers)
        assert_answered(provider, data, answer)
        statuses.add(answer.status)
    assert len(bodies) > 20 * len(asked)
    assert {200, 400} <= statuses


@pytest.mark.parametrize("provider", REQUESTS)
async def test_wrong_things_through_django(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same answers as the door's: status and body, from a pipeline in the same state."""
    from mockllm_site.asgi import django

    path, headers, asked = REQUESTS[provider]
    inside, outside = Playing(ANYTHING), Playing(ANYTHING)
    door = ProviderApp(outside.running)
    monkeypatch.setattr(view, "running_pipeline", inside.running)
    for i, body in enumerate(broken(asked)):
        if i % 15:
            continue
        data = json.dumps(body).encode()
        answer = await through(django, "POST", path, data, headers=headers)
        assert_answered(provider, data, answer)
        expected = await through(door, "POST", path, data, headers=headers)
        assert (answer.status, answer.body) == (expected.status, expected.body)


@st.composite
def damaged(draw: st.DrawFn, asked: dict[str, Any]) -> bytes:
    """A good body with some bytes of it gone, doubled or others."""
    data = bytearray(json.dumps(asked).encode())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data) - 1))
        length = draw(st.integers(0, 30))
        data[at : at + length] = draw(
            st.sampled_from([b"", bytes(data[at : at + length]) * 2, b"\0", b"{", b'"', b"\xff"])
            | st.binary(max_size=4)
        )
    return bytes(data)


@pytest.mark.parametrize("provider", REQUESTS)
@given(data=st.data())
@settings(deadline=None, max_examples=often(150))
def test_damaged_bodies(provider: str, data: st.DataObject) -> None:
    path, headers, asked = REQUESTS[provider]
    body = data.draw(damaged(asked))
    before = len(playing.journal)
    answer = asyncio.run(through(DOOR, "POST", path, body, headers=headers))
    assert_answered(provider, body, answer)
    assert len(playing.journal) == before + 1
