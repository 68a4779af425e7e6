"""The form that an error has with each provider, as its clients read it."""

from typing import Any


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
