"""Converts errors of SDKs, the network and parsers to ChatError."""

import logging
import re
import traceback
from collections.abc import Mapping
from typing import Literal, TypeAlias

import httpx2

from chat_app import errors
from chat_app.errors import ChatError
from chat_app.values.text import clean

CONNECTION_FAILED = "Connection failed"
INVALID_KEY = "Invalid API key"
RATE_LIMIT = "Rate limited, try again"
UNREADABLE = "Failed to parse response"

# Longer messages of providers are cut.
_MAX_MESSAGE_CHARS = 2_000
# Shorter texts are no keys, and may be words.
_MIN_KEY_CHARS = 8
# Google answers 400 for a wrong key and 403 for none; only the message tells it from others.
_GOOGLE_KEY = re.compile(r"api[ _]?key|unregistered callers", re.IGNORECASE)

logger = logging.getLogger(__name__)

# How an error of a provider arrived; an error event is inside a stream.
_FailureKind: TypeAlias = Literal["network", "unreadable", "http status", "error event"]
# By name, because an SDK is imported when it is first used. Subclasses are found by their bases.
KINDS: Mapping[str, _FailureKind] = {
    "httpx2.TransportError": "network",
    "httpx2.DecodingError": "unreadable",
    "openai.APIConnectionError": "network",
    "openai.APIStatusError": "http status",
    "openai.APIError": "error event",
    "anthropic.APIConnectionError": "network",
    "anthropic.APIStatusError": "http status",
    "anthropic.APIError": "error event",
    "google.genai.errors.APIError": "http status",
}


def unreadable_response() -> ChatError:
    """Return the error of a response that cannot be parsed."""
    return ChatError(errors.SERVICE_UNAVAILABLE, UNREADABLE)


def to_chat_error(error: Exception, *, key: str = "") -> ChatError:
    """Return the ChatError for an error, without the key; details are logged."""
    for cause in _causes(error):
        if isinstance(cause, ChatError):
            if cause.__cause__ is not None:
                _log_without_key(cause.message, cause.__cause__, key)
            return cause
        if kind := _find_kind(cause):
            return _error_of_kind(kind, cause, key)
    trace = "".join(traceback.format_exception(error))
    logger.error("a model call failed: %s", _redact_key(key, trace))
    return ChatError(errors.SERVICE_UNAVAILABLE, _clean_for_display(_error_text(error), key))


def clear_frames(error: BaseException) -> None:
    """Clear the variables that the tracebacks of an error and of those before it hold, so that the
    SDK's generators are closed now, on their loop, and not by a garbage collection in a thread."""
    current: BaseException | None = error
    while current is not None:
        traceback.clear_frames(current.__traceback__)
        current = current.__cause__ or current.__context__


def _error_of_kind(kind: _FailureKind, error: BaseException, key: str) -> ChatError:
    """Return the ChatError for a failure of this kind; network and parse errors are logged."""
    match kind:
        case "network":
            _log_without_key(CONNECTION_FAILED, error, key)
            return ChatError(errors.NETWORK_ERROR, CONNECTION_FAILED)
        case "unreadable":
            _log_without_key(UNREADABLE, error, key)
            return unreadable_response()
        case "error event":
            message = _clean_for_display(_provider_message(error), key)
            return ChatError(errors.SERVICE_UNAVAILABLE, message)
        case "http status":
            message = _provider_message(error)
            match _http_status(error):
                case 401:
                    return ChatError(errors.UNAUTHORIZED, INVALID_KEY)
                case 400 | 403 if _is_google(error) and _GOOGLE_KEY.search(message):
                    return ChatError(errors.UNAUTHORIZED, INVALID_KEY)
                case 429:
                    return ChatError(errors.RATE_LIMITED, RATE_LIMIT)
            return ChatError(errors.SERVICE_UNAVAILABLE, _clean_for_display(message, key))


def _log_without_key(summary: str, error: BaseException, key: str) -> None:
    """Log the details of an error, without the key."""
    details = _redact_key(key, f"{type(error).__name__}: {error}")
    logger.warning("%s: %.500s", summary, details)


def _causes(error: BaseException) -> list[BaseException]:
    """Return an error and its causes, the innermost first; SDKs wrap errors of transports."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and cause not in chain:
        chain.append(cause)
    return chain[::-1]


def _find_kind(error: BaseException) -> _FailureKind | None:
    """Return the kind in KINDS of the error's class or a base class, or None."""
    names = (f"{base.__module__}.{base.__qualname__}" for base in type(error).__mro__)
    return next((KINDS[name] for name in names if name in KINDS), None)


def _http_status(error: BaseException) -> object:
    """Return the HTTP status of an error, or None for an error inside a stream."""
    if not _is_google(error):
        return getattr(error, "status_code", None)
    answered = isinstance(getattr(error, "response", None), httpx2.Response)
    return getattr(error, "code", None) if answered else None


def _is_google(error: BaseException) -> bool:
    return type(error).__module__ == "google.genai.errors"


def _provider_message(error: BaseException) -> str:
    """Return the provider's message from the body of an error, by default one with the status."""
    message = _find_message(getattr(error, "details" if _is_google(error) else "body", None))
    if message:
        return message
    status = _http_status(error)
    return f"The provider answered with HTTP {status}" if status else _error_text(error)


def _find_message(sent: object) -> str:
    """Return the message in a provider's error body; "" for a body without one, or an HTML page."""
    while True:
        match sent:
            case {"error": dict() | str() as inner} | [dict() as inner]:
                sent = inner
            case {"message": str(text)} | str(text):
                return "" if text.lstrip().startswith("<") else text.strip()
            case _:
                return ""


def _error_text(error: BaseException) -> str:
    """Return the text of an error, or the name of its class if it has none."""
    return str(error) or type(error).__name__


def _clean_for_display(message: str, key: str) -> str:
    """Return a message without control characters and the key, cut to _MAX_MESSAGE_CHARS."""
    text = _redact_key(key, clean(message))
    return text if len(text) <= _MAX_MESSAGE_CHARS else f"{text[:_MAX_MESSAGE_CHARS]}…"


def _redact_key(key: str, text: str) -> str:
    """Return the text with `…` for the key; an empty or very short key is not replaced."""
    return text.replace(key, "…") if len(key) >= _MIN_KEY_CHARS else text
