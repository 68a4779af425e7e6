"""What one run may take: seconds, text and tool calls. A model that never ends is ended here."""

from dataclasses import replace
from typing import Final

from django.conf import settings

from chat_app.errors import SERVICE_UNAVAILABLE, ChatError
from chat_app.values.provider_events import (
    CallArguments,
    CallBegun,
    ProviderEvent,
    TextPiece,
    ThinkingPiece,
)
from traces_app.reports import REPORT_TOOL

_ENCODING: Final = "utf-8"


class Budget:
    """What is left of a run's text and tool calls, over all its model calls."""

    def __init__(self) -> None:
        self._most_bytes: int = settings.CHAT_RUN_TEXT_BYTES
        self._most_calls: int = settings.CHAT_RUN_TOOL_CALLS
        self._bytes = 0
        self._calls = 0

    def take(self, event: ProviderEvent) -> ProviderEvent:
        """The event, its text cut to what is left; `check` says that it was. Whatever a model
        says is text, the arguments of its calls too. Raises ChatError for a tool call too many."""
        if isinstance(event, CallBegun) and event.name != REPORT_TOOL:
            self._calls += 1
            if self._calls > self._most_calls:
                raise _spent(f"called more than {self._most_calls} tools", "CHAT_RUN_TOOL_CALLS")
        left = max(self._most_bytes - self._bytes, 0)
        self._bytes += (size := _size(event))
        if size > left and isinstance(event, TextPiece | ThinkingPiece | CallArguments):
            return replace(event, text=_beginning(event.text, left))
        return event

    def check(self) -> None:
        """Raises ChatError once more was said than may be."""
        if self._bytes > self._most_bytes:
            raise _spent(f"has more than {self._most_bytes} bytes of text", "CHAT_RUN_TEXT_BYTES")


def out_of_time() -> ChatError:
    """What a run ends with at the end of its time."""
    return _spent(f"took longer than {settings.CHAT_RUN_SECONDS} seconds", "CHAT_RUN_SECONDS")


def _spent(what: str, setting: str) -> ChatError:
    return ChatError(SERVICE_UNAVAILABLE, f"The answer {what}, the limit of {setting}")


def _size(event: ProviderEvent) -> int:
    match event:
        case TextPiece(text) | CallArguments(text=text):
            return _bytes(text)
        case ThinkingPiece(text, signature, redacted):
            return _bytes(text) + _bytes(signature) + _bytes(redacted)
        case CallBegun(id=call_id, name=name):
            return _bytes(call_id) + _bytes(name)
    return 0


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(_ENCODING, "surrogatepass"))


def _beginning(text: str, most: int) -> str:
    """As many whole characters as so many bytes hold."""
    return text.encode(_ENCODING, "surrogatepass")[:most].decode(_ENCODING, "ignore")
