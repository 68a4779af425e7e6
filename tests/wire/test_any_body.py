"""No body, however wrong, makes a wire raise anything but its one error."""

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
from tests.support.hypothesis_profiles import often
from tests.wire.envelopes import refused_rightly
from tests.wire.ollama.ollama_bodies import ALL, ROUTES
from tests.wire.openai.responses_cases import Session
from tests.wire.rich_bodies import RICH
from tests.wire.typed import JSON, SCALARS, relaxed

CONTEXT = ComputeContext(
    {"claude-a": "anthropic", "gemini-a": "gemini", "m": "ollama"}, 1_763_760_000, "f00d"
)
# The API key tells which provider a shared path belongs to.
HEADERS = {
    "anthropic": {"x-api-key": "k", "anthropic-version": "2023-06-01"},
    "gemini": {"x-goog-api-key": "k"},
    "openai": {"authorization": "Bearer k"},
    "ollama": {},
}


def some(*fields: str) -> st.SearchStrategy[Any]:
    """Objects with some of these fields."""
    return st.dictionaries(st.sampled_from(fields), JSON)


def nested(words: str, keys: str) -> st.SearchStrategy[Any]:
    """JSON made of a provider's own words."""
    return st.recursive(
        SCALARS | st.integers() | st.sampled_from(words.split()),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(keys.split()) | st.text(), inner, max_size=3)
        ),
        max_leaves=6,
    )


def like(provider: str, words: str, keys: str) -> st.SearchStrategy[Any]:
    """Objects with the fields of a provider's rich body, and one that it does not know."""
    fields = st.sampled_from([*RICH[provider].body, "else"])
    return st.dictionaries(fields, nested(words, keys), max_size=6)


@dataclass(frozen=True)
class Sent:
    """Where bodies are sent to, what they are, and the statuses of what is refused there."""

    provider: str
    path: str
    bodies: st.SearchStrategy[Any]
    statuses: tuple[int, ...] = (400,)
    method: str = "POST"


CLAUDES = like(
    "anthropic",
    "text tool_use tool_result thinking user custom",
    "type text role content input name id",
)
GEMINIS = like("gemini", "text user model function", "text role parts name id functionCall")
RESPONSES = some("input", "tools", "text", "reasoning", "prompt")
SENT = [
    Sent("openai", "/v1/chat/completions", some("model", "messages", "tools", "n")),
    Sent("openai", "/v1/completions", some("model", "prompt", "n", "stop", "echo")),
    Sent("openai", "/v1/embeddings", some("model", "input", "dimensions")),
    Sent("openai", "/v1/moderations", some("model", "input")),
    Sent(
        "openai", "/v1/responses", some("input", "tools", "text", "reasoning", "prompt"), (400, 404)
    ),
    *(Sent("anthropic", path, CLAUDES) for path in RICH["anthropic"].paths),
    *(Sent("gemini", path, GEMINIS) for path in RICH["gemini"].paths),
    *(Sent("ollama", path, ALL, (400, 404), method) for method, path in ROUTES),
]


def read(sent: Sent, body: Any) -> CanonicalRequest | None:
    """The request that a body is, with what is computed of it; None for one that is refused."""
    raw = json.dumps(body).encode()
    call = Call(sent.method, sent.path, {}, HEADERS[sent.provider], raw)
    target = find_target(call)
    assert target is not None and target.endpoint is not None, sent
    assert target.wire.provider == sent.provider
    endpoint = target.endpoint
    try:
        request = endpoint.read(call, endpoint, target.params, read_body(raw, Limits()))
        if endpoint.archival is not None:
            request = Session().resolve(request, endpoint.archival)
        if endpoint.compute is not None and (request.computed or not endpoint.generates):
            assert isinstance(json.loads(endpoint.compute(request, CONTEXT)), dict)
    except WireError as error:
        refused_rightly(target.wire, error, *sent.statuses)
        return None
    assert isinstance(request, CanonicalRequest)
    assert all(isinstance(value, str) for value in request.metadata.values())
    return request


@pytest.mark.parametrize("sent", SENT, ids=lambda sent: f"{sent.method} {sent.path}")
@relaxed(max_examples=often(1_000))
@given(data=st.data())
def test_any_body_is_a_request_or_refused(sent: Sent, data: st.DataObject) -> None:
    request = read(sent, data.draw(sent.bodies))
    if request is not None and sent.provider == "ollama" and sent.method == "POST":
        assert request.model


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where something can be put in place of something else: every key and index there is."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [place for key, item in inner for place in [(*path, key), *places(item, (*path, key))]]


def put(at: Any, place: tuple[str | int, ...], value: Any) -> None:
    """Put a value in a place, unless an earlier change has taken the place away."""
    *way, last = place
    with suppress(KeyError, IndexError, TypeError):
        for key in way:
            at = at[key]
        at[last] = value


def changed(provider: str) -> st.SearchStrategy[Any]:
    """A rich body with something else in up to three of its places."""
    rich = RICH[provider]
    change = st.tuples(st.sampled_from(places(rich.body)), st.sampled_from(rich.odd))

    def make(changes: list[tuple[tuple[str | int, ...], Any]]) -> Any:
        body = deepcopy(rich.body)
        for place, value in changes:
            put(body, place, deepcopy(value))
        return body

    return st.lists(change, min_size=1, max_size=3).map(make)


@pytest.mark.parametrize("provider", RICH)
def test_unchanged_bodies_are_accepted(provider: str) -> None:
    for path in RICH[provider].paths:
        assert read(Sent(provider, path, st.nothing()), RICH[provider].body) is not None


@pytest.mark.parametrize("provider", RICH)
@relaxed(max_examples=often(3_000))
@given(data=st.data())
def test_a_request_with_something_else_in_some_places(provider: str, data: st.DataObject) -> None:
    body = data.draw(changed(provider))
    for path in RICH[provider].paths:
        read(Sent(provider, path, st.nothing()), body)
