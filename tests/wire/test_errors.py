"""Errors on every wire: envelopes by status, headers and malformed bodies."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.producing.faults import FAULT_KINDS, fault_error
from scenarios_app.engine.scenario import Fault
from scenarios_app.wire.anthropic.wire import WIRE as MESSAGES
from scenarios_app.wire.base import Wire
from scenarios_app.wire.gemini.wire import WIRES as GEMINIS
from scenarios_app.wire.ollama.wire import WIRE as OLLAMA
from scenarios_app.wire.openai.responses.wire import WIRE as RESPONSES
from scenarios_app.wire.openai.wire import WIRE as CHAT
from scenarios_app.wire.registry import wires
from tests.wire.statuses import ANTHROPIC, GEMINI, OPENAI

CREATED = 1_763_760_000
WIRES: dict[str, Wire] = {
    "openai": CHAT,
    "responses": RESPONSES,
    "anthropic": MESSAGES,
    "gemini": GEMINIS[0],
    "gemini array": GEMINIS[1],
    "ollama": OLLAMA,
}
STATUSES: dict[str, dict[int, Any]] = {
    "openai": OPENAI,
    "responses": OPENAI,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "gemini array": GEMINI,
    "ollama": dict.fromkeys((400, 404, 429, 500)),
}


def openai_envelope(status: int) -> Any:
    kind, code = OPENAI[status]
    return {"error": {"message": "Oh.", "type": kind, "param": None, "code": code}}


def anthropic_envelope(status: int) -> Any:
    error = {"type": ANTHROPIC[status], "message": "Oh."}
    return {"type": "error", "error": error, "request_id": "req_f00d"}


def gemini_envelope(status: int) -> Any:
    return {"error": {"code": status, "message": "Oh.", "status": GEMINI[status]}}


ENVELOPES: dict[str, Callable[[int], Any]] = {
    "openai": openai_envelope,
    "responses": openai_envelope,
    "anthropic": anthropic_envelope,
    "gemini": gemini_envelope,
    "gemini array": gemini_envelope,
    "ollama": lambda status: {"error": "Oh."},
}
each_wire = pytest.mark.parametrize("name", WIRES)


def render_headers(name: str, error: ErrorAnswer | None = None) -> dict[str, str]:
    headers = WIRES[name].headers(request_id="f00d", created=CREATED, error=error)
    assert len(dict(headers)) == len(headers), "a header is there twice"
    assert all(value.isascii() and value.isprintable() for header in headers for value in header)
    return dict(headers)


@pytest.mark.parametrize(
    ("name", "status"), [(n, status) for n in STATUSES for status in STATUSES[n]]
)
def test_status_has_the_envelope_of_its_provider(name: str, status: int) -> None:
    body = json.loads(WIRES[name].error(ErrorAnswer(status, "Oh."), request_id="f00d"))
    assert body == ENVELOPES[name](status)
    assert json.dumps(body) == json.dumps(ENVELOPES[name](status)), "another order of keys"


@each_wire
def test_error_without_retry_has_the_headers_of_a_success(name: str) -> None:
    success_headers = render_headers(name)
    assert all(
        render_headers(name, ErrorAnswer(status, "Oh.")) == success_headers
        for status in (400, 500, 503)
    )


@each_wire
def test_headers_are_deterministic(name: str) -> None:
    assert render_headers(name) == render_headers(name)


@each_wire
@pytest.mark.parametrize(("retryable", "header"), [(True, "true"), (False, "false"), (None, None)])
def test_retryable_error_has_should_retry_header(
    name: str, retryable: bool | None, header: str | None
) -> None:
    headers = render_headers(name, ErrorAnswer(500, "Oh.", retryable=retryable))
    assert headers == render_headers(name) | ({"x-should-retry": header} if header else {})


@each_wire
@pytest.mark.parametrize(
    ("retry_after_ms", "seconds"), [(0, "0"), (1, "1"), (20, "1"), (1500, "2")]
)
def test_retry_after_is_a_header_and_changes_no_limits(
    name: str, retry_after_ms: int, seconds: str
) -> None:
    milliseconds = (
        {"retry-after-ms": str(retry_after_ms)} if name in ("openai", "responses") else {}
    )
    headers = render_headers(name, ErrorAnswer(503, "Full.", retry_after_ms=retry_after_ms))
    assert headers == render_headers(name) | {"retry-after": seconds} | milliseconds


@each_wire
def test_retry_after_and_should_retry_are_combined(name: str) -> None:
    wait_headers = render_headers(name, ErrorAnswer(503, "Full.", retry_after_ms=500))
    combined_headers = render_headers(
        name, ErrorAnswer(503, "Full.", retry_after_ms=500, retryable=True)
    )
    assert combined_headers == {**wait_headers, "retry-after": "1", "x-should-retry": "true"}


@pytest.mark.parametrize("name", ["gemini", "gemini array", "ollama"])
def test_dialect_without_limit_headers_sends_only_retry_after(name: str) -> None:
    error = ErrorAnswer(429, "Slow.", retry_after_ms=1500, limited=True)
    assert render_headers(name) == {}
    assert render_headers(name, error) == {"retry-after": "2"}


@pytest.mark.parametrize("wire", wires(), ids=lambda wire: wire.name)
def test_own_errors_of_a_wire_have_the_names_of_faults(wire: Wire) -> None:
    assert set(wire.own_errors) <= set(FAULT_KINDS)


@pytest.mark.parametrize("wire", wires(), ids=lambda wire: wire.name)
@pytest.mark.parametrize(
    ("kind", "statuses"), [("overloaded", {503, 529}), ("rate_limited", {429})]
)
def test_fault_named_after_an_error_has_the_status_of_its_provider(
    wire: Wire, kind: str, statuses: set[int]
) -> None:
    error = fault_error(Fault(kind), wire.own_errors)
    body = json.loads(wire.error(error, request_id="f00d"))
    assert error.status in statuses
    assert error.message in json.dumps(body)


def test_overload_has_the_envelope_of_its_provider() -> None:
    def envelope(wire: Wire) -> Any:
        error = fault_error(Fault("overloaded"), wire.own_errors)
        return json.loads(wire.error(error, request_id="f00d"))

    assert envelope(CHAT)["error"] == {
        "message": "Our servers are currently overloaded. Please try again later.",
        "type": "service_unavailable_error",
        "param": None,
        "code": "server_is_overloaded",
    }
    assert envelope(MESSAGES)["error"] == {"type": "overloaded_error", "message": "Overloaded"}
    assert envelope(GEMINIS[0])["error"]["status"] == "UNAVAILABLE"
    assert envelope(OLLAMA)["error"].startswith("server busy")


@each_wire
def test_malformed_body_is_invalid_json(name: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(WIRES[name].malformed_body)
