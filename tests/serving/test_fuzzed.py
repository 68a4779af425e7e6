"""Random requests get an answer or an error in the provider's envelope, never an internal error."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import find_target
from tests.serving.dialects import DIALECTS
from tests.serving.pipelines import Harness, scenario, text_step
from tests.wire.envelopes import envelope_complaint

harness = Harness(
    scenario("any", text_step("Hi {{ request.last_user_text }}!")), max_text_bytes=10_000_000
)

odd_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=20),
        st.sampled_from(["user", "assistant", "tool", "system", "\0", "{{ x }}", "test-llm"]),
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "tool_calls", "id", "name", "x"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
FIELDS = (
    "model",
    "messages",
    "stream",
    "tools",
    "n",
    "max_tokens",
    "temperature",
    "system",
    "stop",
    "options",
    "think",
)
PROVIDERS = ("openai", "anthropic", "gemini", "ollama")
EVERY_WIRE = pytest.mark.parametrize(
    "call", [dialect.call() for dialect in DIALECTS.values()], ids=list(DIALECTS)
)


async def assert_answered(call: Call) -> None:
    target, entries_before = find_target(call), len(harness.journal)
    status, headers, body = await harness.ask(call)
    assert status < 500, body
    assert len(harness.journal) == entries_before + 1
    if status >= 400:
        error = json.loads(body)
        if target is None:
            # A path that looks like a provider's gets the provider's envelope.
            error.pop("message", None)
        providers = [target.wire.provider] if target else PROVIDERS
        assert "" in {envelope_complaint(provider, error) for provider in providers}, body
        assert headers["content-length"] == str(len(body))


@EVERY_WIRE
@given(body=st.binary(max_size=200))
def test_random_bytes_are_answered(call: Call, body: bytes) -> None:
    asyncio.run(assert_answered(_with_body(call, body=body)))


@EVERY_WIRE
@given(change=st.dictionaries(st.sampled_from(FIELDS), odd_values, min_size=1, max_size=4))
def test_random_fields_are_answered(call: Call, change: dict[str, Any]) -> None:
    body = json.dumps({**json.loads(call.body), **change}).encode()
    asyncio.run(assert_answered(_with_body(call, body=body)))


@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "BREW"]),
    path=st.builds(
        "".join,
        st.tuples(
            st.sampled_from(["/v1/", "/api/chat", "/api/tags"]),
            st.text(st.characters(codec="ascii"), max_size=30),
        ),
    ),
    headers=st.dictionaries(
        st.sampled_from(["authorization", "x-api-key", "anthropic-version", "origin", "x-odd"]),
        st.text(max_size=20),
    ),
)
def test_random_methods_paths_and_headers_are_answered(
    method: str, path: str, headers: dict[str, str]
) -> None:
    call = Call(method, path, {}, headers, b"")
    if method == "HEAD":
        status, _, body = asyncio.run(harness.ask(call))
        assert status < 500 and body == b""
    else:
        asyncio.run(assert_answered(call))


def _with_body(call: Call, *, body: bytes) -> Call:
    return Call(call.method, call.path, call.query, call.headers, body)
