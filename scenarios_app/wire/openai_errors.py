"""OpenAI's error envelope, and the headers that every OpenAI answer carries."""

from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.wire.base import Headers, encode_json, retry_after_seconds, sse

_CODES = {
    401: "invalid_api_key",
    404: "model_not_found",
    405: "method_not_supported",
    429: "rate_limit_exceeded",
}
_DEFAULT_RETRY_MS = 1000

# One request taken from 10,000 a minute is back in 6 ms, a thousand tokens of two million in 30.
_FULL_LIMITS: Headers = (
    ("x-ratelimit-limit-requests", "10000"),
    ("x-ratelimit-limit-tokens", "2000000"),
    ("x-ratelimit-remaining-requests", "9999"),
    ("x-ratelimit-remaining-tokens", "1999000"),
    ("x-ratelimit-reset-requests", "6ms"),
    ("x-ratelimit-reset-tokens", "30ms"),
)


def error_body(error: ErrorAnswer) -> bytes:
    """The envelope; its `type` and `code` are those of the status unless the error has its own."""
    fields = {
        "message": error.message,
        "type": error.type or _type_of(error.status),
        "param": error.param,
        "code": error.code or _CODES.get(error.status),
    }
    return encode_json({"error": fields})


def error_event(error: ErrorAnswer) -> bytes:
    """The same envelope inside a stream that has begun with status 200."""
    return sse(error_body(error))


def event_code(error: ErrorAnswer) -> str:
    """The code of an error in a stream that has no field for its type."""
    return error.code or _CODES.get(error.status) or error.type or _type_of(error.status)


def answer_headers(request_id: str, error: ErrorAnswer | None) -> Headers:
    """OpenAI's own headers, the same for the same request: nothing in them is measured."""
    own: Headers = (
        ("x-request-id", f"req_{request_id}"),
        ("openai-processing-ms", "12"),
        ("openai-version", "2020-10-01"),
        ("openai-organization", "mockllm"),
    )
    if error is None:
        return own + _FULL_LIMITS
    wait_ms = error.retry_after_ms
    if error.limited and wait_ms is None:
        wait_ms = _DEFAULT_RETRY_MS
    limits = _spent_limits(wait_ms or 0) if error.limited else _FULL_LIMITS
    return own + limits + _retry_headers(wait_ms, error.retryable)


def duration(milliseconds: int) -> str:
    """A reset time as OpenAI writes it: `20ms`, `1.5s`, `6m0s`, `1h0m0s`."""
    if 0 < milliseconds < 1000:
        return f"{milliseconds}ms"
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest / 1000:g}s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds


def _type_of(status: int) -> str:
    if status >= 500:
        return "server_error"
    return "requests" if status == 429 else "invalid_request_error"


def _spent_limits(wait_ms: int) -> Headers:
    reset = duration(wait_ms)
    return (
        ("x-ratelimit-limit-requests", "10000"),
        ("x-ratelimit-limit-tokens", "2000000"),
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-requests", reset),
        ("x-ratelimit-reset-tokens", reset),
    )


def _retry_headers(wait_ms: int | None, retryable: bool | None) -> Headers:
    headers: Headers = ()
    if wait_ms is not None:
        headers += (
            ("retry-after", retry_after_seconds(wait_ms)),
            ("retry-after-ms", str(wait_ms)),
        )
    if retryable is not None:
        headers += (("x-should-retry", "true" if retryable else "false"),)
    return headers
