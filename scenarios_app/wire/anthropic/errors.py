"""Anthropic's error envelope and response headers."""

from collections.abc import Mapping
from functools import lru_cache

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.wire.base import (
    Headers,
    encode_line,
    format_time,
    retry_after_seconds,
    retry_headers,
)

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
    """Return the body of an error; its request id is None in a stream or in a batch."""
    usual = "invalid_request_error" if error.status < 500 else "api_error"
    kind = error.type or _TYPES.get(error.status, usual)
    details = {} if error.code is None else {"details": {"error_code": error.code}}
    fields = {"type": kind, "message": error.message, **details}
    own = {} if request_id is None else {"request_id": f"req_{request_id}"}
    return encode_line({"type": "error", "error": fields, **own})


def answer_headers(*, request_id: str, created: int, error: ErrorAnswer | None) -> Headers:
    """Return request id and rate limits; for an error also Retry-After and x-should-retry."""
    base = (("request-id", f"req_{request_id}"), ("anthropic-organization-id", _ORGANIZATION))
    exhausted = None
    if error is not None and error.limited:
        wait = error.retry_after_ms
        exhausted = _WINDOW_SECONDS if wait is None else int(retry_after_seconds(wait))
    return base + _rate_limits(created, exhausted_for=exhausted) + retry_headers(error)


@lru_cache(maxsize=64)
def _rate_limits(created: int, *, exhausted_for: int | None) -> Headers:
    """Return the limits with one request used, or with none left for `exhausted_for` seconds."""
    seconds = _WINDOW_SECONDS if exhausted_for is None else exhausted_for
    reset = format_time(created + seconds)
    headers: Headers = ()
    for name, limit in _LIMITS:
        left = limit - 1 if name == "requests" else limit
        headers += (
            (f"anthropic-ratelimit-{name}-limit", str(limit)),
            (f"anthropic-ratelimit-{name}-remaining", str(left if exhausted_for is None else 0)),
            (f"anthropic-ratelimit-{name}-reset", reset),
        )
    return headers
