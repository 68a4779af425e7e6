"""Checks of the error body that each provider sends."""

import json
from typing import Any

from scenarios_app.wire.base import Wire
from scenarios_app.wire.errors import WireError


def envelope_complaint(provider: str, body: Any) -> str:
    """Return the first problem of a provider's error body, or an empty string."""
    match provider, body:
        case "openai", {"error": {"message": str(text), "type": str(), "param": _, "code": _}}:
            return "" if text else "no message"
        case (
            "anthropic",
            {"type": "error", "error": {"type": str(), "message": str(text)}, "request_id": str()},
        ):
            return "" if text else "no message"
        case (
            "gemini",
            {"error": {"code": int(), "message": str(text), "status": str(), **rest}},
        ):
            # Google omits empty `details`.
            details = rest.pop("details", None)
            if rest or details == []:
                return f"unexpected error fields: {body}"
            return "" if text else "no message"
        case "ollama", {"error": str(text)} if list(body) == ["error"]:
            return "" if text else "no message"
        case _:
            return f"not an error body of {provider}: {body}"


def assert_error_envelope(wire: Wire, error: WireError, *statuses: int) -> None:
    """Assert that an error has one of these statuses, a message and its provider's envelope."""
    assert error.answer.status in statuses
    assert error.answer.message
    body = json.loads(wire.error(error.answer, request_id="f00d"))
    assert envelope_complaint(wire.provider, body) == ""
    assert wire.provider != "gemini" or body["error"]["code"] == error.answer.status
