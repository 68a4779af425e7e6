"""Anthropic's error envelope and response headers."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.wire.base import Headers, encode_json, retry_after_seconds, retry_headers

_TYPES: Mapping[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
OWN_ERRORS: Mapping[str, ErrorAnswer] = {
    "rate_limited": ErrorAnswer(
        429,
        "This request would exceed your organization's rate limit of 4,000 requests per minute. "
        "For details, refer to: https://docs.claude.com/en/api/rate-limits.",
        retryable=True,
    ),
    "overloaded": ErrorAnswer(529, "Overloaded", retryable=True),
}
_LIMITS = (
    ("requests", 4_000),
    ("tokens", 480_000),
    ("input-tokens", 400_000),
    ("output-tokens", 80_000),
)
_WINDOW_SECONDS = 60
_ORGANIZATION = "00000000-0000-4000-8000-000000000000"


def error_envelope(error: ErrorAnswer, *, request_id: str | None) -> bytes:
    """Return the body of an error; in a stream it has no request id."""
    fields: dict[str, Any] = {
        "type": error.type or _error_type(error.status),
        "message": error.message,
    }
    if error.code is not None:
        fields["details"] = {"error_code": error.code}
    body: dict[str, Any] = {"type": "error", "error": fields}
    if request_id is not None:
        body["request_id"] = to_request_id(request_id)
    return encode_json(body)


def answer_headers(*, request_id: str, created: int, error: ErrorAnswer | None) -> Headers:
    """Return request id and rate limits; for an error also Retry-After and x-should-retry."""
    base = (("request-id", to_request_id(request_id)), ("anthropic-organization-id", _ORGANIZATION))
    exhausted = None
    if error is not None and error.limited:
        wait = error.retry_after_ms
        exhausted = _WINDOW_SECONDS if wait is None else int(retry_after_seconds(wait))
    return base + _rate_limits(created, exhausted_for=exhausted) + retry_headers(error)


def to_request_id(request_id: str) -> str:
    return f"req_{request_id}"


def _error_type(status: int) -> str:
    return _TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")


@lru_cache(maxsize=64)
def _rate_limits(created: int, *, exhausted_for: int | None) -> Headers:
    """Return the limits with one request used, or with none left for `exhausted_for` seconds."""
    seconds = _WINDOW_SECONDS if exhausted_for is None else exhausted_for
    reset = datetime.fromtimestamp(created + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return tuple(
        header
        for name, limit in _LIMITS
        for header in (
            (f"anthropic-ratelimit-{name}-limit", str(limit)),
            (f"anthropic-ratelimit-{name}-remaining", _remaining(name, limit, exhausted_for)),
            (f"anthropic-ratelimit-{name}-reset", reset),
        )
    )


def _remaining(name: str, limit: int, exhausted_for: int | None) -> str:
    if exhausted_for is not None:
        return "0"
    return str(limit - 1 if name == "requests" else limit)
