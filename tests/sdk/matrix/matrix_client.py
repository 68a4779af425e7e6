"""The interface of the matrix to a client: send a prompt and collect the response."""

import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import httpx
import httpx2

from tests.sdk.matrix.matrix_messages import Failure, Outcome, ResponseCollector
from tests.support.live_server import Live

# Reading the machine's certificates for each client takes longer than most tests.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TIMEOUT_SECONDS = 20
TRANSPORT_ERRORS = (httpx.TransportError, httpx2.TransportError)


@dataclass(frozen=True)
class Prompt:
    """The user's text and the earlier messages, each with its role."""

    text: str
    history: tuple[tuple[str, str], ...] = ()

    @property
    def turns(self) -> tuple[tuple[str, str], ...]:
        return (*self.history, ("user", self.text))

    @property
    def messages(self) -> list[Any]:
        return [{"role": role, "content": text} for role, text in self.turns]


SendRequest: TypeAlias = Callable[[Live, Prompt, ResponseCollector], None]


@dataclass(frozen=True)
class MatrixClient:
    """The client of one wire.

    `route` is the canonical path of its requests; a test uses it to find wires without a client.
    `create` and `stream` send a request and collect the response; `failure` converts the exceptions
    that they raise. `native_body` returns a hand-written response body with a text, and
    `native_stream` the same as a stream.
    """

    provider: str
    route: str
    create: SendRequest
    stream: SendRequest
    failure: Callable[[Exception], Failure]
    native_body: Callable[[str], Any]
    native_stream: Callable[[str], str]
    stream_type: str = "text/event-stream"

    def ask(self, live: Live, prompt: Prompt, *, stream: bool) -> Outcome:
        collector, failure = ResponseCollector(), None
        try:
            (self.stream if stream else self.create)(live, prompt, collector)
        except Exception as error:
            failure = self.failure(error)
        pieces = tuple(collector.pieces) if stream else ()
        return Outcome(collector.messages(), collector.usage, pieces, failure)


def events(*sent: Any, end: str = "") -> str:
    """Encode values as server-sent events."""
    return "".join(f"data: {json.dumps(event)}\n\n" for event in sent) + end


def named_events(*sent: Any) -> str:
    """Encode values as server-sent events that are named by their types."""
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in sent)
