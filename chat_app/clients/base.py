"""The one interface behind which every provider stands: a request in, five kinds of event out."""

from collections.abc import AsyncIterator
from typing import Protocol

from chat_app.values.provider_events import (
    CallArguments,
    CallBegun,
    Finished,
    ProviderEvent,
    TextPiece,
    ThinkingPiece,
)
from chat_app.values.request import ModelRequest

__all__ = [
    "CallArguments",
    "CallBegun",
    "Finished",
    "LlmClient",
    "ProviderEvent",
    "TextPiece",
    "ThinkingPiece",
]


class LlmClient(Protocol):
    """One provider, one profile's address and key."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """The events of one model call, in true order; `Finished` comes once, last.

        Raises ChatError: for what the provider or the network says, and for a stream that ends
        without its provider's terminal marker. Closing the iterator, or cancelling the task that
        reads it, closes the provider's socket.
        """
        ...

    async def aclose(self) -> None:
        """Give back connections."""
        ...
