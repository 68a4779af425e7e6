"""Bodies with an error at any place get the provider's error."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostile.inprocess import call_app
from tests.hostile.provider_requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    GENERATE,
    LOCAL,
    MESSAGES,
    OLLAMA,
    OPENAI,
)
from tests.hostile.raw import Response
from tests.serving.pipelines import Harness, scenario, text_step
from tests.serving.transports.provider_app import provider_app
from tests.support.hypothesis_profiles import example_count
from tests.wire.anthropic.test_anthropic_sdk import BETA_MESSAGE_ARGUMENTS
from tests.wire.envelopes import envelope_complaint
from tests.wire.full_request_bodies import CONTENTS

ANYTHING = scenario("anything", text_step("You said {{ request.last_user_text }}."))
# None of these values makes a request wait for its answer.
WRONG_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 10**30, "", "x", "\0", "user", "tool"),
    *([], [[]], [None], {}, {"type": "text"}, {"a": {"b": [1]}}),
)
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CHAT_BODY: dict[str, Any] = {
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
OLLAMA_CHAT_BODY: dict[str, Any] = {
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
OLLAMA_GENERATE_BODY: dict[str, Any] = {
    **{key: OLLAMA_CHAT_BODY[key] for key in ("model", "options", "format", "think", "keep_alive")},
    "prompt": "Hello",
    "suffix": "!",
    "system": "Be brief.",
    "template": "{{ .Prompt }}",
    "context": [1, 2, 3],
    "images": ["AAAA"],
    "raw": False,
    "stream": True,
}
OLLAMA_EMBED_BODY: dict[str, Any] = {
    "model": "nomic-embed-text",
    "input": ["one", "two"],
    "truncate": True,
    "dimensions": 4,
    "options": {"num_ctx": 100},
    "keep_alive": 5,
}
REQUESTS: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "openai": (CHAT, OPENAI, CHAT_BODY),
    "anthropic": (MESSAGES, ANTHROPIC, BETA_MESSAGE_ARGUMENTS),
    "gemini": (GENERATE, GEMINI, CONTENTS),
    "gemini embed": (
        "/v1/models/m:batchEmbedContents",
        GEMINI,
        {"requests": CONTENTS["requests"] * 4},
    ),
    "ollama": (LOCAL, OLLAMA, OLLAMA_CHAT_BODY),
    "ollama generate": ("/api/generate", OLLAMA, OLLAMA_GENERATE_BODY),
    "ollama embed": ("/api/embed", OLLAMA, OLLAMA_EMBED_BODY),
}
harness = Harness(ANYTHING)
APP = provider_app(harness)


def mutate(value: Any) -> Iterator[Any]:
    """Yield copies of a value with one place removed or replaced by a wrong value."""
    yield from WRONG_VALUES
    if isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
            for inner in mutate(value[key]):
                yield {**value, key: inner}
    elif isinstance(value, list):
        for i, item in enumerate(value):
            for inner in mutate(item):
                yield [*value[:i], inner, *value[i + 1 :]]


def assert_answered(provider: str, body: bytes, answer: Response) -> None:
    assert answer.status in (200, 400, 404), (body, answer)
    if answer.status == 200:
        assert answer.body
    else:
        provider = provider.partition(" ")[0]
        assert envelope_complaint(provider, answer.json()) == "", (body, answer)


@pytest.mark.parametrize("provider", REQUESTS)
async def test_wrong_values_at_every_place_get_the_providers_error(provider: str) -> None:
    path, headers, valid_body = REQUESTS[provider]
    statuses: set[int] = set()
    bodies = list(mutate(valid_body))
    for body in bodies:
        data = json.dumps(body).encode()
        answer = await call_app(APP, "POST", path, data, headers=headers)
        assert_answered(provider, data, answer)
        statuses.add(answer.status)
    assert len(bodies) > 20 * len(valid_body)
    assert {200, 400} <= statuses


@st.composite
def damaged_bodies(draw: st.DrawFn, valid_body: dict[str, Any]) -> bytes:
    """Draw a valid body of which some bytes are removed, doubled or replaced."""
    data = bytearray(json.dumps(valid_body).encode())
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data) - 1))
        length = draw(st.integers(0, 30))
        data[start : start + length] = draw(
            st.sampled_from(
                [b"", bytes(data[start : start + length]) * 2, b"\0", b"{", b'"', b"\xff"]
            )
            | st.binary(max_size=4)
        )
    return bytes(data)


@pytest.mark.parametrize("provider", REQUESTS)
@given(data=st.data())
@settings(deadline=None, max_examples=example_count(150))
def test_damaged_bodies_are_answered_and_journalled(provider: str, data: st.DataObject) -> None:
    path, headers, valid_body = REQUESTS[provider]
    body = data.draw(damaged_bodies(valid_body))
    before = len(harness.journal)
    answer = asyncio.run(call_app(APP, "POST", path, body, headers=headers))
    assert_answered(provider, body, answer)
    assert len(harness.journal) == before + 1
