"""OpenAI's errors: scripted fields and rate limit headers."""

import json
from typing import Any

import pytest

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.wire.openai.shared import format_duration
from scenarios_app.wire.openai.wire import WIRE


def render_error(error: ErrorAnswer) -> dict[str, Any]:
    body = json.loads(WIRE.error(error, request_id="abc"))
    assert list(body) == ["error"]
    fields: dict[str, Any] = body["error"]
    assert list(fields) == ["message", "type", "param", "code"]
    return fields


def render_headers(error: ErrorAnswer | None = None) -> dict[str, str]:
    pairs = WIRE.headers(request_id="abc", created=1735689600, error=error)
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def test_scripted_error_fields_replace_the_defaults() -> None:
    error = ErrorAnswer(429, "no", type="insufficient_quota", code="quota", param="model")
    assert render_error(error) == {
        "message": "no",
        "type": "insufficient_quota",
        "param": "model",
        "code": "quota",
    }


def test_an_error_in_a_stream_is_one_event_with_the_envelope() -> None:
    error = ErrorAnswer(500, "Grüße\nby\u2028e")
    event = WIRE.stream_error(error, events_sent=3)
    assert event.startswith(b"data: ")
    assert event.endswith(b"\n\n")
    assert event.count(b"\n") == 2 and "\u2028".encode() not in event
    assert json.loads(event.removeprefix(b"data: "))["error"] == {
        "message": "Grüße\nby\u2028e",
        "type": "server_error",
        "param": None,
        "code": None,
    }


def test_successful_response_has_exact_headers() -> None:
    assert render_headers() == {
        "x-request-id": "req_abc",
        "openai-processing-ms": "12",
        "openai-version": "2020-10-01",
        "openai-organization": "mockllm",
        "x-ratelimit-limit-requests": "10000",
        "x-ratelimit-limit-tokens": "2000000",
        "x-ratelimit-remaining-requests": "9999",
        "x-ratelimit-remaining-tokens": "1999000",
        "x-ratelimit-reset-requests": "6ms",
        "x-ratelimit-reset-tokens": "30ms",
    }


@pytest.mark.parametrize(
    ("retry_after_ms", "seconds", "exact", "reset"),
    [(None, "1", "1000", "1s"), (1500, "2", "1500", "1.5s"), (0, "0", "0", "0s")],
)
def test_exhausted_limit_has_retry_after_and_reset_headers(
    retry_after_ms: int | None, seconds: str, exact: str, reset: str
) -> None:
    headers = render_headers(ErrorAnswer(429, "no", limited=True, retry_after_ms=retry_after_ms))
    assert (headers["retry-after"], headers["retry-after-ms"]) == (seconds, exact)
    for kind in ("requests", "tokens"):
        assert headers[f"x-ratelimit-remaining-{kind}"] == "0"
        assert headers[f"x-ratelimit-reset-{kind}"] == reset
        assert int(headers[f"x-ratelimit-limit-{kind}"]) > 0


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0s"),
        (6, "6ms"),
        (999, "999ms"),
        (1000, "1s"),
        (1500, "1.5s"),
        (59_999, "59.999s"),
        (60_000, "1m0s"),
        (360_000, "6m0s"),
        (3_600_000, "1h0m0s"),
        (3_723_250, "1h2m3.25s"),
    ],
)
def test_reset_times_are_durations(milliseconds: int, text: str) -> None:
    assert format_duration(milliseconds) == text
