"""Answers that nobody would write: an event of a client's or its error, and nothing else."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat_app.errors import SERVICE_UNAVAILABLE
from tests.chat.clients.test_client_anthropic import START
from tests.chat.clients.test_client_anthropic import block as anthropic_block
from tests.chat.clients.test_client_anthropic import delta as anthropic_delta
from tests.chat.clients.test_client_google import called, chunk_of
from tests.chat.clients.test_client_openai import call, chunk
from tests.chat.scripted import read_answer
from tests.chat.ways import FAMILIES
from tests.support.hypothesis_profiles import often

UNREADABLE = (SERVICE_UNAVAILABLE, "Failed to parse response")
SCALARS = st.none() | st.booleans() | st.integers(-3, 2**70) | st.floats() | st.text(max_size=3)
ANY = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
# Valid events, in which one value is replaced by any other.
EVENTS: dict[str, list[Any]] = {
    "openai": [
        chunk(content="a", reasoning="b", refusal="c"),
        call(0, "call_a", name="look", arguments="{}"),
        chunk(finish="stop") | {"usage": {"prompt_tokens": 1, "completion_tokens": 1}},
    ],
    "anthropic": [
        START,
        anthropic_block(0, type="text", text="a"),
        anthropic_delta(0, type="text_delta", text="a"),
        anthropic_block(0, type="thinking", thinking="a", signature="b"),
        anthropic_delta(0, type="signature_delta", signature="a"),
        anthropic_block(0, type="tool_use", id="a", name="look", input={}),
        anthropic_delta(0, type="input_json_delta", partial_json="{"),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "x"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ],
    "google": [
        chunk_of({"text": "a", "thought": True, "thoughtSignature": "YQ=="}),
        chunk_of({**called(id="c1", args={"a": 1}), "thoughtSignature": "YQ=="}),
        chunk_of(finish="STOP") | {"usageMetadata": {"promptTokenCount": 1}},
    ],
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    found = [path]
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        found += [place for key, held in inner for place in places(held, (*path, key))]
    return found


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copied = value.copy()
    copied[path[0]] = replaced(value[path[0]], path[1:], new)
    return copied


@st.composite
def broken(draw: st.DrawFn, family: str) -> list[Any]:
    """Some of the family's events, each with something else in some place."""
    events = draw(st.lists(st.sampled_from(EVENTS[family]), max_size=5))
    return [replaced(event, draw(st.sampled_from(places(event))), draw(ANY)) for event in events]


@pytest.mark.parametrize("family", FAMILIES)
def test_an_answer_of_anything_is_read_or_refused(family: str, request: Any) -> None:
    site = request.getfixturevalue("settings")

    @settings(max_examples=often(50), suppress_health_check=[HealthCheck.too_slow])
    @given(broken(family))
    def check(events: list[Any]) -> None:
        received = read_answer(site, family, *events)
        if received.error is None:
            assert received.finished
        else:
            assert received.failed == UNREADABLE

    check()


@pytest.mark.parametrize("family", FAMILIES)
def test_an_answer_cut_anywhere_is_never_taken_for_whole(family: str, request: Any) -> None:
    """Byte by byte, the end of an answer is its end, or an error."""
    site = request.getfixturevalue("settings")
    whole = {
        "openai": [chunk(content="one"), chunk(content=" two"), chunk(finish="stop")],
        "anthropic": [
            START,
            anthropic_block(0, type="text", text=""),
            anthropic_delta(0, type="text_delta", text="one"),
            anthropic_delta(0, type="text_delta", text=" two"),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_stop"},
        ],
        "google": [chunk_of({"text": "one"}), chunk_of({"text": " two"}), chunk_of(finish="STOP")],
    }[family]
    last = json.dumps(whole[-1])
    for length in range(0, len(last), 7):
        received = read_answer(site, family, *whole[:-1], last[:length])
        assert (received.text, received.failed) == ("one two", UNREADABLE)
    assert read_answer(site, family, *whole).finished
