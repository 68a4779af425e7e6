"""What a client is to the matrix: something that asks in its own way and is heard in the common
one."""

import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import httpx
import httpx2

from tests.sdk.matrix.matrix_said import Failure, Hearing, Outcome
from tests.support.live_server import Live

# Reading the machine's certificates for each client takes longer than most tests.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
PATIENCE = 20
BROKEN = (httpx.TransportError, httpx2.TransportError)


@dataclass(frozen=True)
class Asked:
    """A question: what the user says at last, and what was said before it, role by role."""

    said: str
    history: tuple[tuple[str, str], ...] = ()

    @property
    def turns(self) -> tuple[tuple[str, str], ...]:
        return (*self.history, ("user", self.said))

    @property
    def messages(self) -> list[Any]:
        return [{"role": role, "content": text} for role, text in self.turns]


Ask: TypeAlias = Callable[[Live, Asked, Hearing], None]


@dataclass(frozen=True)
class Client:
    """`route` is the canonical path that it asks, so that a wire without a client is noticed.
    `whole` and `stream` ask and hear; `failure` reads what they raise. `native` is the body of an
    answer that says a text, written by hand, and `native_stream` the same as a stream."""

    provider: str
    route: str
    whole: Ask
    stream: Ask
    failure: Callable[[Exception], Failure]
    native: Callable[[str], Any]
    native_stream: Callable[[str], str]
    stream_type: str = "text/event-stream"

    def ask(self, live: Live, asked: Asked, *, stream: bool) -> Outcome:
        hearing, failure = Hearing(), None
        try:
            (self.stream if stream else self.whole)(live, asked, hearing)
        except Exception as error:
            failure = self.failure(error)
        pieces = tuple(hearing.pieces) if stream else ()
        return Outcome(hearing.said(), hearing.usage, pieces, failure)


def events(*sent: Any, end: str = "") -> str:
    """Server-sent events of these values."""
    return "".join(f"data: {json.dumps(event)}\n\n" for event in sent) + end


def named_events(*sent: Any) -> str:
    """The same, each under the name that is its type."""
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in sent)
