"""No body, however wrong, makes the Gemini wire raise anything but its one error."""

import json
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import find
from tests.examples import often
from tests.wire.envelopes import envelope_complaint
from tests.wire.gemini.gemini_cases import FACTS, MODEL, call

RICH: dict[str, Any] = {
    "contents": [
        {"role": "user", "parts": [{"text": "Hello"}, {"inlineData": {"data": "iVBO"}}]},
        {"role": "model", "parts": [{"text": "Hm", "thought": True}]},
        {
            "role": "model",
            "parts": [
                {"text": "m.", "thought": True, "thoughtSignature": "c2ln"},
                {"text": "Look.", "thoughtSignature": "c2ln"},
                {"functionCall": {"id": "c", "name": "f", "args": {"a": [1]}}},
                {"functionCall": {"name": "g"}, "thought_signature": "eHh4"},
            ],
        },
        {
            "role": "function",
            "parts": [
                {"functionResponse": {"id": "c", "name": "f", "response": {"result": "x"}}},
                {"functionResponse": {"name": "g", "response": {"error": "y"}}},
                {"text": "And?"},
            ],
        },
    ],
    "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
    "tools": [
        {"functionDeclarations": [{"name": "f", "description": "d", "parameters": {}}]},
        {"googleSearch": {}},
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    "generationConfig": {
        "temperature": 0.5,
        "topP": 1,
        "topK": 40,
        "maxOutputTokens": 16,
        "stopSequences": ["END"],
        "candidateCount": 1,
        "responseMimeType": "application/json",
        "responseSchema": {},
        "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 1, "thinkingLevel": "LOW"},
    },
    "labels": {"team": "qa"},
    "safetySettings": [{"category": "x"}],
    "cachedContent": "cachedContents/1",
    "content": {"parts": [{"text": "embedded"}]},
    "outputDimensionality": 2,
    "requests": [{"content": {"parts": [{"text": "embedded"}]}, "outputDimensionality": 2}],
    "generateContentRequest": {"contents": [{"parts": [{"text": "counted"}]}]},
}
VERBS = ("generateContent", "countTokens", "embedContent", "batchEmbedContents")
leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "text", "user", "model", "function"])
    | st.text(max_size=5)
)
keys = st.sampled_from(["text", "role", "parts", "name", "id", "functionCall"]) | st.text()
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1.5, 2**80, 1e308),
    *("", "text", "model", "user", "c2ln", "=", "\u2028\x00é"),
    *([], [[]], [None], [""], ["text"], [{}], [{"text": "x"}], [{"functionResponse": {}}]),
    *({}, {"": {}}, {"text": None}, {"text": {}}, {"parts": 1}, {"parts": {"text": "x"}}),
    *({"functionCall": {"name": []}}, {"role": "model"}, {"thought": True, "text": "x"}),
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


def test_what_is_changed_is_right_to_begin_with() -> None:
    for verb in VERBS:
        _read(RICH, verb, refusable=False)


@pytest.mark.parametrize("verb", VERBS)
@settings(fast, max_examples=often(1_000))
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(ODD)), min_size=1, max_size=3))
def test_a_request_with_something_else_in_some_places(
    verb: str, changes: list[tuple[tuple[str | int, ...], Any]]
) -> None:
    body = deepcopy(RICH)
    for place, value in changes:
        _put(body, place, deepcopy(value))
    _read(body, verb)


@pytest.mark.parametrize("verb", VERBS)
@settings(fast, max_examples=often(200))
@given(st.dictionaries(st.sampled_from([*RICH, "else"]), values, max_size=6))
def test_any_object(verb: str, body: dict[str, Any]) -> None:
    _read(body, verb)


def _put(at: Any, place: tuple[str | int, ...], value: Any) -> None:
    """Put a value in a place, unless an earlier change has taken the place away."""
    *way, last = place
    with suppress(KeyError, IndexError, TypeError):
        for key in way:
            at = at[key]
        at[last] = value


def _read(body: dict[str, Any], verb: str, *, refusable: bool = True) -> None:
    sent = call(f"{MODEL}:{verb}", json.dumps(body).encode())
    target = find(sent)
    assert target is not None and target.endpoint is not None
    wire = target.wire
    try:
        request = target.endpoint.read(
            sent, target.endpoint, target.params, read_body(sent.body, Limits())
        )
    except WireError as error:
        assert refusable and error.answer.status == 400
        sent_back = json.loads(wire.error(error.answer, request_id="f00d"))
        assert envelope_complaint("gemini", sent_back) == ""
        assert sent_back["error"]["code"] == 400
    else:
        assert isinstance(request, CanonicalRequest)
        assert all(isinstance(value, str) for value in request.metadata.values())
        if target.endpoint.compute is not None:
            json.loads(target.endpoint.compute(request, FACTS))
