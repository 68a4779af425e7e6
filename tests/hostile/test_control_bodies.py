"""Any request to the control API gets a documented response, and the next request works."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockllm_site.kit.api.locality import ADDRESS_VARIABLE
from tests.conftest import reset_server_state
from tests.control.control_client import Control, scenario, text_step
from tests.support.hypothesis_profiles import example_count

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "PROPFIND", "X")
PATHS = (
    "scenarios",
    "scenarios/x",
    "scenarios/x/steps",
    "reset",
    "state",
    "requests",
    "requests/x",
    "verify",
    "verdict",
    "coverage",
    "coverage/faults",
    "explain",
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
ANY = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
# With keys of documents, so that the values below them are read.
KEYS = st.sampled_from(
    [
        *("name", "steps", "scenarios", "produce", "text", "match", "messages", "model", "turn"),
        *("session", "count", "equals", "at_least", "path", "headers", "body", "method", "fault"),
        *("kind", "failures", "times", "side_effects", "assert", "tools", "raw", "choices"),
    ]
)
PLAUSIBLE = st.recursive(
    SCALARS | st.sampled_from(["x", "/v1/chat/completions", "/v1/messages", "(", "{{ x }}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)
QUERIES = st.dictionaries(
    st.sampled_from(
        ["session", "limit", "after", "matched", "provider", "scenario", "scenarios", "ignore", "x"]
    ),
    TEXTS,
    max_size=3,
)
FUZZED = settings(
    max_examples=example_count(80),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def control(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Control]:
    monkeypatch.setenv(ADDRESS_VARIABLE, "127.0.0.1")
    control = Control()
    control.put("scenarios/x", scenario("x", text_step("fine", consume=False)))
    yield control
    reset_server_state()


def assert_control_works(control: Control) -> None:
    assert control.put("scenarios/x", scenario("x", text_step("fine"))).status_code in (200, 201)
    assert control.get("requests", limit=1).status_code == 200


@FUZZED
@given(
    method=st.sampled_from(METHODS[:4]),
    path=st.sampled_from(PATHS),
    body=ANY | PLAUSIBLE,
    query=QUERIES | st.just({}),
)
def test_any_json_gets_a_documented_answer(
    control: Control, method: str, path: str, body: Any, query: dict[str, str]
) -> None:
    response = control.request(method, path, query=query, body=json.dumps(body).encode())
    assert response.status_code < 500, response.content
    assert_control_works(control)


@FUZZED
@given(path=st.sampled_from(PATHS), body=st.binary(max_size=200))
def test_any_bytes_get_a_documented_answer(control: Control, path: str, body: bytes) -> None:
    response = control.request("POST", path, body=body)
    assert response.status_code < 500, response.content
    assert_control_works(control)


@FUZZED
@given(
    method=st.sampled_from(METHODS),
    path=st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40),
    content_type=st.sampled_from(["application/json", "text/plain", "", "x", "application/json;x"]),
)
def test_any_path_gets_json(control: Control, method: str, path: str, content_type: str) -> None:
    url = "/control/" + path.replace("?", "").replace("#", "")
    response = control.client.generic(method, url, b"{}", content_type)
    assert response.status_code < 500, response.content
    if response.status_code >= 400 and method != "HEAD":
        assert response.headers["Content-Type"] == "application/json"
        assert set(response.json()) == {"code", "message", "field"}


@FUZZED
@given(host=st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=30))
def test_no_host_header_opens_what_is_closed(control: Control, host: str) -> None:
    response = Client(headers={"host": host}).get("/control/requests")
    allowed = ("localhost", "127.0.0.1", "[::1]")
    if response.status_code == 200:
        assert host.strip().lower().startswith(allowed)
    else:
        assert set(response.json()) == {"code", "message", "field"}
