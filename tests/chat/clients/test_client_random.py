"""Clients read generated malformed streams or report one error."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat_app.errors import SERVICE_UNAVAILABLE
from tests.chat.clients.claude_events import START
from tests.chat.clients.claude_events import block as anthropic_block
from tests.chat.clients.claude_events import delta as anthropic_delta
from tests.chat.clients.gemini_chunks import chunk_of, function_call
from tests.chat.clients.openai_chunks import call, chunk
from tests.chat.mock_provider import FAMILIES
from tests.chat.scripted_transport import read_answer
from tests.support.hypothesis_profiles import example_count

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
        chunk_of({**function_call(id="c1", args={"a": 1}), "thoughtSignature": "YQ=="}),
        chunk_of(finish="STOP") | {"usageMetadata": {"promptTokenCount": 1}},
    ],
}


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every place in a JSON value."""
    paths = [path]
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        paths += [inner_path for key, item in inner for inner_path in paths_of(item, (*path, key))]
    return paths


def replace_at(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replace_at(value[path[0]], path[1:], new)
    return copy


@st.composite
def broken_events(draw: st.DrawFn, family: str) -> list[Any]:
    """Draw events of the family with one value of each replaced."""
    events = draw(st.lists(st.sampled_from(EVENTS[family]), max_size=5))
    return [
        replace_at(event, draw(st.sampled_from(paths_of(event))), draw(ANY)) for event in events
    ]


# Google's SDK warns about unknown values of enumerations.
@pytest.mark.filterwarnings("ignore::UserWarning:google.genai._common")
@pytest.mark.parametrize("family", FAMILIES)
def test_malformed_stream_is_read_or_an_error(family: str, request: Any) -> None:
    django_settings = request.getfixturevalue("settings")

    @settings(max_examples=example_count(50), suppress_health_check=[HealthCheck.too_slow])
    @given(broken_events(family))
    def read_or_fail(events: list[Any]) -> None:
        received = read_answer(django_settings, family, *events)
        if received.error is None:
            assert received.finished
        else:
            assert received.failure == UNREADABLE

    read_or_fail()


@pytest.mark.parametrize("family", FAMILIES)
def test_truncated_answer_is_never_complete(family: str, request: Any) -> None:
    """The last event is cut at every seventh character."""
    django_settings = request.getfixturevalue("settings")
    complete_events = {
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
    last = json.dumps(complete_events[-1])
    for length in range(0, len(last), 7):
        received = read_answer(django_settings, family, *complete_events[:-1], last[:length])
        assert (received.text, received.failure) == ("one two", UNREADABLE)
    assert read_answer(django_settings, family, *complete_events).finished
