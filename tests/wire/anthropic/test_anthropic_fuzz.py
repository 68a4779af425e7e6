"""No body, however wrong, makes the Anthropic wire raise anything but its one error."""

import json
from contextlib import suppress
from copy import deepcopy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.anthropic.wire import WIRE
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.errors import WireError
from tests.examples import often
from tests.wire.anthropic.anthropic_cases import COUNT_TOKENS, FACTS, MESSAGES, call
from tests.wire.envelopes import envelope_complaint

RICH: dict[str, Any] = {
    "model": "claude-x",
    "max_tokens": 16,
    "stream": False,
    "temperature": 0.5,
    "top_p": 1,
    "stop_sequences": ["END"],
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "metadata": {"user_id": "u"},
    "output_config": {"format": {"type": "json_schema", "schema": {}}},
    "output_format": {"type": "json_schema", "schema": {}},
    "tool_choice": {"type": "auto"},
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [
        {"name": "f", "description": "d", "input_schema": {"type": "object"}, "type": "custom"},
        {"type": "mcp_toolset", "mcp_server_name": "files"},
    ],
    "messages": [
        {"role": "user", "content": "Hello"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "tool_use", "id": "t", "name": "f", "input": {"a": [1]}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "content": [{"type": "text", "text": "r"}],
                    "is_error": False,
                },
                {"type": "text", "text": "And?"},
            ],
        },
        {"role": "system", "content": "Rhyme."},
    ],
}
leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "text", "tool_use", "tool_result", "thinking", "user", "custom"])
    | st.text(max_size=5)
)
keys = st.sampled_from(["type", "text", "role", "content", "input", "name", "id"]) | st.text()
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)


ODD: list[Any] = [
    *(None, True, False, 0, -1, 1.5, 2**80, 1e308),
    *("", "text", "tool_result", "tool_use", "thinking", "disabled", "custom", "\u2028\x00é"),
    *([], [[]], [None], [""], ["text"], [{}], [{"type": "text"}], [{"type": "tool_result"}]),
    *({}, {"": {}}, {"type": None}, {"type": []}, {"type": "text", "text": {}}, {"format": 1}),
    *({"type": "tool_use", "id": [], "name": "f"}, {"role": "assistant"}, {"content": [1]}),
]


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where something can be put in place of something else: every key and index there is."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [place for key, item in inner for place in [(*path, key), *_places(item, (*path, key))]]


PLACES = _places(RICH)
fast = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@settings(fast, max_examples=often(3_000))
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(ODD)), min_size=1, max_size=3))
def test_a_request_with_something_else_in_some_places(
    changes: list[tuple[tuple[str | int, ...], Any]],
) -> None:
    body = deepcopy(RICH)
    for place, value in changes:
        _put(body, place, deepcopy(value))
    _read(body)


@settings(fast, max_examples=often(500))
@given(st.dictionaries(st.sampled_from([*RICH, "else"]), values, max_size=6))
def test_any_object(body: dict[str, Any]) -> None:
    _read(body)


def _put(at: Any, place: tuple[str | int, ...], value: Any) -> None:
    """Put a value in a place, unless an earlier change has taken the place away."""
    *way, last = place
    with suppress(KeyError, IndexError, TypeError):
        for key in way:
            at = at[key]
        at[last] = value


def _read(body: dict[str, Any]) -> None:
    sent = json.dumps(body).encode()
    for route in (MESSAGES, COUNT_TOKENS):
        try:
            request = route.read(call(body=sent), route, {}, read_body(sent, Limits()))
        except WireError as error:
            assert error.answer.status == 400
            sent_back = json.loads(WIRE.error(error.answer, request_id="f00d"))
            assert envelope_complaint("anthropic", sent_back) == ""
        else:
            assert isinstance(request, CanonicalRequest)
            assert all(isinstance(value, str) for value in request.metadata.values())
            json.loads(COUNT_TOKENS.compute(request, FACTS))
