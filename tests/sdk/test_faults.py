"""Broken answers, and what each provider's client raises for them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anthropic
import httpx
import httpx2
import ollama
import openai
import pytest
from google.genai.errors import ClientError, ServerError, UnknownApiResponseError

from tests.sdk.clients import PROVIDERS, Client, Heard
from tests.sdk.scripted import TEXT, load_fault
from tests.support.live_server import Live

OVER = "The model fell over."
EVENT = ("type", "message", "code")
ALSO_BETA = [*PROVIDERS, "anthropic beta"]


@dataclass(frozen=True)
class Raised:
    """What a client raises: `cause` is what its own class was raised from."""

    kind: type[Exception]
    cause: type[Exception] | None = None

    def is_it(self, error: BaseException | None) -> bool:
        from_cause = self.cause is None or isinstance(error and error.__cause__, self.cause)
        return type(error) is self.kind and from_cause


def told_by_the_error(*names: str) -> Callable[[Heard], tuple[Any, ...]]:
    """Its class, and more of it."""
    return lambda heard: (type(heard.error), *(getattr(heard.error, name) for name in names))


@dataclass(frozen=True)
class Breaks:
    """What a client raises where there is no answer, where a stream is cut, where nothing comes at
    all and where nothing more comes, for a whole answer that is an error, and for a stream that
    cannot be read. `event` scripts an error in a stream; of that `told` makes `error`."""

    closed: Raised
    cut: Raised
    silent: type[Exception]
    stalled: type[Exception]
    refused: type[Exception]
    told: Callable[[Heard], tuple[Any, ...]]
    error: tuple[Any, ...]
    event: dict[str, Any] = field(default_factory=lambda: {"code": "fell_over"})
    garbled: type[Exception] = json.JSONDecodeError


OPENAI = Breaks(
    closed=Raised(openai.APIConnectionError, httpx2.RemoteProtocolError),
    cut=Raised(openai.APIConnectionError, httpx2.RemoteProtocolError),
    silent=openai.APITimeoutError,
    stalled=openai.APITimeoutError,
    refused=openai.InternalServerError,
    told=told_by_the_error("message", "code"),
    error=(openai.APIError, OVER, "fell_over"),
)
RESPONSES = Breaks(
    closed=OPENAI.closed,
    cut=OPENAI.cut,
    silent=OPENAI.silent,
    stalled=OPENAI.stalled,
    refused=OPENAI.refused,
    # No exception: the error is an event like others.
    told=lambda heard: (heard.error, *(getattr(heard.items[-1], name) for name in EVENT)),
    error=(None, "error", OVER, "fell_over"),
)
ANTHROPIC = Breaks(
    closed=Raised(anthropic.APIConnectionError, httpx2.RemoteProtocolError),
    # In a stream, errors of the transport, which the SDK does not wrap.
    cut=Raised(httpx2.RemoteProtocolError),
    silent=anthropic.APITimeoutError,
    stalled=httpx2.ReadTimeout,
    refused=anthropic.InternalServerError,
    event={"type": "overloaded_error"},
    told=lambda heard: (type(heard.error), getattr(heard.error, "body", {})["error"]),
    error=(anthropic.APIStatusError, {"type": "overloaded_error", "message": OVER}),
)
BREAKS = {
    "openai": OPENAI,
    "responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "anthropic beta": ANTHROPIC,
    "gemini": Breaks(
        closed=Raised(httpx2.RemoteProtocolError),
        cut=Raised(httpx2.RemoteProtocolError),
        silent=httpx2.ReadTimeout,
        stalled=httpx2.ReadTimeout,
        refused=ServerError,
        event={"type": "OOPS"},
        told=told_by_the_error("code", "status", "message"),
        error=(ServerError, 500, "OOPS", OVER),
        garbled=UnknownApiResponseError,
    ),
    "ollama": Breaks(
        closed=Raised(httpx.RemoteProtocolError),
        cut=Raised(httpx.RemoteProtocolError),
        silent=httpx.ReadTimeout,
        stalled=httpx.ReadTimeout,
        refused=ollama.ResponseError,
        told=told_by_the_error("error", "status_code"),
        error=(ollama.ResponseError, OVER, -1),
    ),
}


@pytest.fixture
def breaks(provider: str) -> Breaks:
    return BREAKS[provider]


@pytest.mark.parametrize("provider", ALSO_BETA)
def test_a_cut_stream_says_that_the_connection_was_closed(
    live: Live, client: Client, breaks: Breaks
) -> None:
    load_fault(live, "disconnect")
    heard = client.hear()
    assert (heard.text.split(), heard.ends) == (["one", "two"], [])
    assert breaks.cut.is_it(heard.error)
    assert [row.outcome for row in live.requests()] == ["fault"]


@pytest.mark.parametrize("after", [0, 1, 4, 5])
def test_a_cut_comes_after_exactly_so_many_chunks(
    live: Live, client: Client, breaks: Breaks, after: int
) -> None:
    load_fault(live, "disconnect", after_chunks=after)
    heard = client.hear()
    assert [piece.strip() for piece in heard.pieces] == TEXT.split()[:after]
    assert heard.ends == []
    assert breaks.cut.is_it(heard.error)


def test_a_truncated_stream_raises_nothing_and_lacks_its_end(live: Live, client: Client) -> None:
    load_fault(live, "truncate")
    heard = client.stream()
    assert (heard.text.split(), heard.ends) == (["one", "two"], [])


@pytest.mark.parametrize("provider", ALSO_BETA)
def test_an_error_inside_the_stream_is_the_clients_own(
    live: Live, client: Client, breaks: Breaks
) -> None:
    load_fault(live, "error_event", message=OVER, **breaks.event)
    heard = client.hear()
    assert heard.text.split() == ["one", "two"]
    assert breaks.told(heard) == breaks.error


def test_a_malformed_chunk_cannot_be_read(live: Live, client: Client, breaks: Breaks) -> None:
    load_fault(live, "malformed_chunk")
    heard = client.hear()
    assert heard.text.split() == ["one", "two"]
    assert isinstance(heard.error, breaks.garbled)


def test_a_stall_goes_on(live: Live, client: Client) -> None:
    load_fault(live, "stall", hold_ms=50)
    assert client.stream().text == TEXT
    assert client.whole() == TEXT


def test_a_stall_that_outlasts_the_clients_patience(
    live: Live, client: Client, breaks: Breaks
) -> None:
    load_fault(live, "stall", hold_ms=60_000)
    # Longer than the pieces before it can take.
    client.wait(1.5)
    heard = client.hear()
    assert heard.text.split() == ["one", "two"]
    assert isinstance(heard.error, breaks.stalled)
    client.wait(0.3)
    with pytest.raises(breaks.silent):
        client.whole()


def test_a_server_that_keeps_silent_is_a_timeout(
    live: Live, client: Client, breaks: Breaks
) -> None:
    load_fault(live, "timeout", hold_ms=60_000)
    client.wait(0.3)
    with pytest.raises(breaks.silent):
        client.whole()
    assert isinstance(client.hear().error, breaks.silent)


@pytest.mark.parametrize("fault", [{"kind": "network_error"}, {"kind": "timeout", "hold_ms": 20}])
def test_no_answer_at_all_is_a_closed_connection(
    live: Live, client: Client, breaks: Breaks, fault: dict[str, Any]
) -> None:
    load_fault(live, **fault)
    assert all(map(breaks.closed.is_it, client.refused()))
    assert [row.outcome for row in live.requests()] == ["fault", "fault"]


# The exception class, its attributes, and the header that asks for a retry.
OWN_ERRORS: dict[str, dict[str, tuple[Any, ...]]] = {
    "openai": {
        "overloaded": (openai.InternalServerError, 503, "server_is_overloaded", "overloaded", None),
        "rate_limited": (openai.RateLimitError, 429, "rate_limit_exceeded", "Rate limit", None),
    },
    "anthropic": {
        "overloaded": (anthropic.OverloadedError, 529, "overloaded_error", "Overloaded", "true"),
        "rate_limited": (anthropic.RateLimitError, 429, "rate_limit_error", "rate limit", "true"),
    },
    "gemini": {
        "overloaded": (ServerError, 503, "UNAVAILABLE", "The model is overloaded.", None),
        "rate_limited": (ClientError, 429, "RESOURCE_EXHAUSTED", "has been exhausted", None),
    },
    "ollama": {
        "overloaded": (ollama.ResponseError, 503, "server busy", "maximum pending", None),
        "rate_limited": (ollama.ResponseError, 429, "too many", "requests", None),
    },
}
OWN_ERRORS["responses"] = OWN_ERRORS["openai"]


@pytest.mark.parametrize("kind", ["overloaded", "rate_limited"])
def test_fault_named_after_an_error_raises_the_class_of_the_provider(
    live: Live, client: Client, kind: str
) -> None:
    error_class, status, name, message, retryable = OWN_ERRORS[client.provider][kind]
    load_fault(live, kind)
    for error in client.refused():
        assert type(error) is error_class
        assert getattr(error, "status_code", getattr(error, "code", None)) == status
        assert name in str(vars(error)) and message in str(error)
        if response := getattr(error, "response", None):
            headers = response.headers
            assert headers.get("x-should-retry") == retryable
            assert headers.get("retry-after") == ("1" if kind == "rate_limited" else None)


def test_an_invalid_response_cannot_be_read(live: Live, client: Client, breaks: Breaks) -> None:
    load_fault(live, "invalid_response")
    with pytest.raises(json.JSONDecodeError):
        client.whole()
    assert isinstance(client.hear().error, breaks.garbled)


def test_whole_answers_break_too(live: Live, client: Client, breaks: Breaks) -> None:
    load_fault(live, "disconnect")
    with pytest.raises(breaks.closed.kind):
        client.whole()
    for kind in ("truncate", "malformed_chunk"):
        load_fault(live, kind)
        with pytest.raises(json.JSONDecodeError):
            client.whole()
    load_fault(live, "error_event", message="Broken.")
    with pytest.raises(breaks.refused, match=r"Broken\."):
        client.whole()
