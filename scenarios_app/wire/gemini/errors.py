"""Google's error envelope."""

from collections.abc import Mapping
from typing import Any

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.wire.base import encode_line

_STATUSES: Mapping[int, str] = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}
OWN_ERRORS: Mapping[str, ErrorAnswer] = {
    "rate_limited": ErrorAnswer(429, "Resource has been exhausted (e.g. check quota)."),
    "overloaded": ErrorAnswer(503, "The model is overloaded. Please try again later."),
}
_TYPE = "type.googleapis.com/google.rpc."
_DOMAIN = "googleapis.com"


def error_envelope(error: ErrorAnswer) -> bytes:
    """Return the body of an error, also inside a stream."""
    usual = "INVALID_ARGUMENT" if error.status < 500 else "INTERNAL"
    status = error.type or _STATUSES.get(error.status, usual)
    fields: dict[str, Any] = {"code": error.status, "message": error.message, "status": status}
    if details := _error_details(error):
        fields["details"] = details
    return encode_line({"error": fields})


def _error_details(error: ErrorAnswer) -> list[dict[str, Any]]:
    """Return the details of an error: its reason, the wrong field, and when to retry."""
    details: list[dict[str, Any]] = []
    if error.code is not None:
        details.append({"@type": f"{_TYPE}ErrorInfo", "reason": error.code, "domain": _DOMAIN})
    if error.param is not None:
        violation = {"field": error.param, "description": error.message}
        details.append({"@type": f"{_TYPE}BadRequest", "fieldViolations": [violation]})
    if error.retry_after_ms is not None:
        seconds, rest = divmod(error.retry_after_ms, 1000)
        delay = f"{seconds}.{rest:03d}s" if rest else f"{seconds}s"
        details.append({"@type": f"{_TYPE}RetryInfo", "retryDelay": delay})
    return details
