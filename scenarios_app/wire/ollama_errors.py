"""Ollama's errors, which are a text and nothing more, and the headers that tell when to retry."""

from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.wire.base import Headers, encode_line, retry_after_seconds


def error_body(error: ErrorAnswer) -> bytes:
    return encode_line({"error": error.message})


def error_line(error: ErrorAnswer) -> bytes:
    """The same as the last line of a stream that has begun with status 200."""
    return error_body(error) + b"\n"


def answer_headers(error: ErrorAnswer | None) -> Headers:
    """Ollama has no headers of its own; these are HTTP's, and the one that SDKs of others obey."""
    headers: Headers = ()
    if error is not None and error.retry_after_ms is not None:
        headers += (("retry-after", retry_after_seconds(error.retry_after_ms)),)
    if error is not None and error.retryable is not None:
        headers += (("x-should-retry", "true" if error.retryable else "false"),)
    return headers
