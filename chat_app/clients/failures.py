"""What an SDK, the network or a parser raises, as the chat's one error."""

import logging
import re
import traceback
from collections.abc import Iterator, Mapping
from enum import Enum, auto

import httpx2

from chat_app.errors import (
    NETWORK_ERROR,
    RATE_LIMITED,
    SERVICE_UNAVAILABLE,
    UNAUTHORIZED,
    ChatError,
)
from chat_app.values.text import clean

CONNECTION_FAILED = "Connection failed"
INVALID_KEY = "Invalid API key"
RATE_LIMIT = "Rate limited, try again"
UNREADABLE = "Failed to parse response"

# What of a provider's message is shown.
_LONGEST = 2_000
# Shorter ones are nobody's key, and may well be words.
_SHORTEST_KEY = 8
# Google says 400 for a wrong key and 403 for none; what it says beside is for no program.
_GOOGLE_KEY = re.compile(r"api[ _]?key|unregistered callers", re.IGNORECASE)

logger = logging.getLogger(__name__)


class _Kind(Enum):
    NETWORK = auto()
    UNREADABLE = auto()
    ANSWERED = auto()  # by an error's status
    TOLD = auto()  # by an error event, inside a stream


# By name, since no SDK is imported before it is used. Subclasses need no line of their own.
KINDS: Mapping[str, _Kind] = {
    "httpx2.TransportError": _Kind.NETWORK,
    "httpx2.DecodingError": _Kind.UNREADABLE,
    "openai.APIConnectionError": _Kind.NETWORK,
    "openai.APIStatusError": _Kind.ANSWERED,
    "openai.APIError": _Kind.TOLD,
    "anthropic.APIConnectionError": _Kind.NETWORK,
    "anthropic.APIStatusError": _Kind.ANSWERED,
    "anthropic.APIError": _Kind.TOLD,
    "google.genai.errors.APIError": _Kind.ANSWERED,
}


def unreadable() -> ChatError:
    return ChatError(SERVICE_UNAVAILABLE, UNREADABLE)


def failure(error: Exception, *, key: str = "") -> ChatError:
    """The error as the chat has it, without the key; what people are not told is logged."""
    for cause in _causes(error):
        if isinstance(cause, ChatError):
            if cause.__cause__ is not None:
                _log(cause.message, cause.__cause__, key)
            return cause
        if kind := next(_kinds(cause), None):
            return _failure(kind, cause, key)
    trace = "".join(traceback.format_exception(error))
    logger.error("a model call failed: %s", _without(key, trace))
    return ChatError(SERVICE_UNAVAILABLE, _shown(_text(error), key))


def _failure(kind: _Kind, error: BaseException, key: str) -> ChatError:
    match kind:
        case _Kind.NETWORK:
            _log(CONNECTION_FAILED, error, key)
            return ChatError(NETWORK_ERROR, CONNECTION_FAILED)
        case _Kind.UNREADABLE:
            _log(UNREADABLE, error, key)
            return unreadable()
        case _Kind.TOLD:
            return ChatError(SERVICE_UNAVAILABLE, _shown(_message(error), key))
        case _Kind.ANSWERED:
            message = _message(error)
            match _status(error):
                case 401:
                    return ChatError(UNAUTHORIZED, INVALID_KEY)
                case 400 | 403 if _is_google(error) and _GOOGLE_KEY.search(message):
                    return ChatError(UNAUTHORIZED, INVALID_KEY)
                case 429:
                    return ChatError(RATE_LIMITED, RATE_LIMIT)
            return ChatError(SERVICE_UNAVAILABLE, _shown(message, key))


def _log(told: str, error: BaseException, key: str) -> None:
    """Why it was, which people are not told."""
    why = _without(key, f"{type(error).__name__}: {error}")
    logger.warning("%s: %.500s", told, why)


def _causes(error: BaseException) -> list[BaseException]:
    """What an error came from, the first cause first: SDKs wrap what a transport raises."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and cause not in chain:
        chain.append(cause)
    return chain[::-1]


def _kinds(error: BaseException) -> Iterator[_Kind]:
    for base in type(error).__mro__:
        if kind := KINDS.get(f"{base.__module__}.{base.__qualname__}"):
            yield kind


def _status(error: BaseException) -> object:
    """The HTTP status that an error came with; None inside a stream, whose status was good."""
    if not _is_google(error):
        return getattr(error, "status_code", None)
    answered = isinstance(getattr(error, "response", None), httpx2.Response)
    return getattr(error, "code", None) if answered else None


def _is_google(error: BaseException) -> bool:
    return type(error).__module__ == "google.genai.errors"


def _message(error: BaseException) -> str:
    """The provider's own words, out of what it sent in place of an answer."""
    found = _words(getattr(error, "details" if _is_google(error) else "body", None))
    if found:
        return found
    status = _status(error)
    return f"The provider answered with HTTP {status}" if status else _text(error)


def _words(sent: object) -> str:
    match sent:
        case {"error": dict() | str() as inner}:
            return _words(inner)
        case {"message": str(text)} | str(text):
            # A proxy in between says what it has to say as a page.
            return "" if text.lstrip().startswith("<") else text.strip()
        case [dict() as only]:
            return _words(only)
        case _:
            return ""


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _shown(message: str, key: str) -> str:
    text = _without(key, clean(message))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _without(key: str, text: str) -> str:
    return text.replace(key, "…") if len(key) >= _SHORTEST_KEY else text
