"""The form that an error has with each provider, as its clients read it."""

import json
from typing import Any

from scenarios_app.wire.base import Wire
from scenarios_app.wire.errors import WireError


def envelope_complaint(provider: str, body: Any) -> str:
    """What is wrong with an error's body, if anything."""
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
            # Google leaves `details` out where there are none.
            details = rest.pop("details", None)
            if rest or details == []:
                return f"more or less than there is: {body}"
            return "" if text else "no message"
        case "ollama", {"error": str(text)} if list(body) == ["error"]:
            return "" if text else "no message"
        case _:
            return f"no envelope of {provider}: {body}"


def refused_rightly(wire: Wire, error: WireError, *statuses: int) -> None:
    """A refusal has one of these statuses, words, and its provider's own form."""
    assert error.answer.status in statuses
    assert error.answer.message
    body = json.loads(wire.error(error.answer, request_id="f00d"))
    assert envelope_complaint(wire.provider, body) == ""
    assert wire.provider != "gemini" or body["error"]["code"] == error.answer.status
