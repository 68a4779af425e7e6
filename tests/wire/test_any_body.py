"""Property tests: any body is parsed or rejected with a `WireError`, on every wire."""

import json
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.base import Call, ComputeContext
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import find_target
from tests.support.hypothesis_profiles import example_count
from tests.wire.envelopes import assert_error_envelope
from tests.wire.full_request_bodies import FULL_REQUESTS
from tests.wire.json_strategies import JSON, SCALARS, relaxed
from tests.wire.ollama.ollama_bodies import ALL, ROUTES
from tests.wire.openai.responses_cases import Session

CONTEXT = ComputeContext(
    {"claude-a": "anthropic", "gemini-a": "gemini", "m": "ollama"}, 1_763_760_000, "f00d"
)
# The API key decides which provider a shared path belongs to.
HEADERS = {
    "anthropic": {"x-api-key": "k", "anthropic-version": "2023-06-01"},
    "gemini": {"x-goog-api-key": "k"},
    "openai": {"authorization": "Bearer k"},
    "ollama": {},
}


def objects_with(*fields: str) -> st.SearchStrategy[Any]:
    """Return a strategy for objects with some of these fields."""
    return st.dictionaries(st.sampled_from(fields), JSON)


def json_of_words(words: str, keys: str) -> st.SearchStrategy[Any]:
    """Return a strategy for JSON of a provider's texts and keys."""
    return st.recursive(
        SCALARS | st.integers() | st.sampled_from(words.split()),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(keys.split()) | st.text(), inner, max_size=3)
        ),
        max_leaves=6,
    )


def objects_like_requests(provider: str, words: str, keys: str) -> st.SearchStrategy[Any]:
    """Return a strategy for objects with fields of a provider's full body and an unknown one."""
    fields = st.sampled_from([*FULL_REQUESTS[provider].body, "else"])
    return st.dictionaries(fields, json_of_words(words, keys), max_size=6)


@dataclass(frozen=True)
class BodyTarget:
    """A path with a strategy for its bodies and the statuses of rejected ones."""

    provider: str
    path: str
    bodies: st.SearchStrategy[Any]
    statuses: tuple[int, ...] = (400,)
    method: str = "POST"


ANTHROPIC_BODIES = objects_like_requests(
    "anthropic",
    "text tool_use tool_result thinking user custom",
    "type text role content input name id",
)
GEMINI_BODIES = objects_like_requests(
    "gemini", "text user model function", "text role parts name id functionCall"
)
RESPONSES_BODIES = objects_with("input", "tools", "text", "reasoning", "prompt")
BODY_TARGETS = [
    BodyTarget("openai", "/v1/chat/completions", objects_with("model", "messages", "tools", "n")),
    BodyTarget("openai", "/v1/completions", objects_with("model", "prompt", "n", "stop", "echo")),
    BodyTarget("openai", "/v1/embeddings", objects_with("model", "input", "dimensions")),
    BodyTarget("openai", "/v1/moderations", objects_with("model", "input")),
    BodyTarget(
        "openai",
        "/v1/responses",
        objects_with("input", "tools", "text", "reasoning", "prompt"),
        (400, 404),
    ),
    *(BodyTarget("anthropic", path, ANTHROPIC_BODIES) for path in FULL_REQUESTS["anthropic"].paths),
    *(BodyTarget("gemini", path, GEMINI_BODIES) for path in FULL_REQUESTS["gemini"].paths),
    *(BodyTarget("ollama", path, ALL, (400, 404), method) for method, path in ROUTES),
]


def read_or_reject(target: BodyTarget, body: Any) -> CanonicalRequest | None:
    """Parse a body and compute its response; return None if it is rejected with a valid error."""
    raw = json.dumps(body).encode()
    call = Call(target.method, target.path, {}, HEADERS[target.provider], raw)
    matched = find_target(call)
    assert matched is not None and matched.endpoint is not None, target
    assert matched.wire.provider == target.provider
    endpoint = matched.endpoint
    try:
        request = endpoint.read(call, endpoint, matched.params, read_body(raw, Limits()))
        if endpoint.archival is not None:
            request = Session().resolve(request, endpoint.archival)
        if endpoint.compute is not None and (request.computed or not endpoint.generates):
            assert isinstance(json.loads(endpoint.compute(request, CONTEXT)), dict)
    except WireError as error:
        assert_error_envelope(matched.wire, error, *target.statuses)
        return None
    assert isinstance(request, CanonicalRequest)
    assert all(isinstance(value, str) for value in request.metadata.values())
    return request


@pytest.mark.parametrize(
    "target", BODY_TARGETS, ids=lambda target: f"{target.method} {target.path}"
)
@relaxed(max_examples=example_count(1_000))
@given(data=st.data())
def test_any_body_is_parsed_or_rejected(target: BodyTarget, data: st.DataObject) -> None:
    request = read_or_reject(target, data.draw(target.bodies))
    if request is not None and target.provider == "ollama" and target.method == "POST":
        assert request.model


def value_paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the path of every key and index inside a JSON value."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [
        inner_path
        for key, item in inner
        for inner_path in [(*path, key), *value_paths(item, (*path, key))]
    ]


def replace_value(container: Any, path: tuple[str | int, ...], value: Any) -> None:
    """Replace the value at a path, unless an earlier change has removed the path."""
    *parents, last = path
    with suppress(KeyError, IndexError, TypeError):
        for key in parents:
            container = container[key]
        container[last] = value


def changed_bodies(provider: str) -> st.SearchStrategy[Any]:
    """Return a strategy for full bodies with up to three values replaced."""
    full_request = FULL_REQUESTS[provider]
    change = st.tuples(
        st.sampled_from(value_paths(full_request.body)), st.sampled_from(full_request.odd_values)
    )

    def apply_changes(changes: list[tuple[tuple[str | int, ...], Any]]) -> Any:
        body = deepcopy(full_request.body)
        for path, value in changes:
            replace_value(body, path, deepcopy(value))
        return body

    return st.lists(change, min_size=1, max_size=3).map(apply_changes)


@pytest.mark.parametrize("provider", FULL_REQUESTS)
def test_full_bodies_are_accepted(provider: str) -> None:
    for path in FULL_REQUESTS[provider].paths:
        assert (
            read_or_reject(BodyTarget(provider, path, st.nothing()), FULL_REQUESTS[provider].body)
            is not None
        )


@pytest.mark.parametrize("provider", FULL_REQUESTS)
@relaxed(max_examples=example_count(3_000))
@given(data=st.data())
def test_full_body_with_replaced_values_is_parsed_or_rejected(
    provider: str, data: st.DataObject
) -> None:
    body = data.draw(changed_bodies(provider))
    for path in FULL_REQUESTS[provider].paths:
        read_or_reject(BodyTarget(provider, path, st.nothing()), body)
