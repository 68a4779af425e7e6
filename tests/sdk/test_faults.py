"""Faults in responses and the exceptions that each provider's client raises for them."""

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

from tests.sdk.clients import PROVIDERS, ProviderClient, StreamOutcome
from tests.sdk.scripted import TEXT, load_fault
from tests.support.live_server import Live

MESSAGE = "The model fell over."
EVENT_ATTRIBUTES = ("type", "message", "code")
ALSO_BETA = [*PROVIDERS, "anthropic beta"]


@dataclass(frozen=True)
class ExpectedError:
    """The class of an exception, and that of its cause if the client wraps one."""

    error_class: type[Exception]
    cause: type[Exception] | None = None

    def matches(self, error: BaseException | None) -> bool:
        from_cause = self.cause is None or isinstance(error and error.__cause__, self.cause)
        return type(error) is self.error_class and from_cause


def error_attributes(*names: str) -> Callable[[StreamOutcome], tuple[Any, ...]]:
    """Return a function that lists the class and these attributes of an outcome's error."""
    return lambda outcome: (type(outcome.error), *(getattr(outcome.error, name) for name in names))


@dataclass(frozen=True)
class FaultErrors:
    """The exceptions of a client for each kind of fault.

    `event_fields` script an error inside a stream; `describe_event_error` must return
    `event_error` for it.
    """

    connection_closed: ExpectedError
    stream_cut: ExpectedError
    no_response: type[Exception]
    stream_stalled: type[Exception]
    error_response: type[Exception]
    describe_event_error: Callable[[StreamOutcome], tuple[Any, ...]]
    event_error: tuple[Any, ...]
    event_fields: dict[str, Any] = field(default_factory=lambda: {"code": "fell_over"})
    unreadable: type[Exception] = json.JSONDecodeError


OPENAI = FaultErrors(
    connection_closed=ExpectedError(openai.APIConnectionError, httpx2.RemoteProtocolError),
    stream_cut=ExpectedError(openai.APIConnectionError, httpx2.RemoteProtocolError),
    no_response=openai.APITimeoutError,
    stream_stalled=openai.APITimeoutError,
    error_response=openai.InternalServerError,
    describe_event_error=error_attributes("message", "code"),
    event_error=(openai.APIError, MESSAGE, "fell_over"),
)
RESPONSES = FaultErrors(
    connection_closed=OPENAI.connection_closed,
    stream_cut=OPENAI.stream_cut,
    no_response=OPENAI.no_response,
    stream_stalled=OPENAI.stream_stalled,
    error_response=OPENAI.error_response,
    # The client raises no exception but returns the error as an event.
    describe_event_error=lambda outcome: (
        outcome.error,
        *(getattr(outcome.items[-1], name) for name in EVENT_ATTRIBUTES),
    ),
    event_error=(None, "error", MESSAGE, "fell_over"),
)
ANTHROPIC = FaultErrors(
    connection_closed=ExpectedError(anthropic.APIConnectionError, httpx2.RemoteProtocolError),
    # The SDK does not wrap errors of the transport inside a stream.
    stream_cut=ExpectedError(httpx2.RemoteProtocolError),
    no_response=anthropic.APITimeoutError,
    stream_stalled=httpx2.ReadTimeout,
    error_response=anthropic.InternalServerError,
    event_fields={"type": "overloaded_error"},
    describe_event_error=lambda outcome: (
        type(outcome.error),
        getattr(outcome.error, "body", {})["error"],
    ),
    event_error=(anthropic.APIStatusError, {"type": "overloaded_error", "message": MESSAGE}),
)
FAULT_ERRORS = {
    "openai": OPENAI,
    "responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "anthropic beta": ANTHROPIC,
    "gemini": FaultErrors(
        connection_closed=ExpectedError(httpx2.RemoteProtocolError),
        stream_cut=ExpectedError(httpx2.RemoteProtocolError),
        no_response=httpx2.ReadTimeout,
        stream_stalled=httpx2.ReadTimeout,
        error_response=ServerError,
        event_fields={"type": "OOPS"},
        describe_event_error=error_attributes("code", "status", "message"),
        event_error=(ServerError, 500, "OOPS", MESSAGE),
        unreadable=UnknownApiResponseError,
    ),
    "ollama": FaultErrors(
        connection_closed=ExpectedError(httpx.RemoteProtocolError),
        stream_cut=ExpectedError(httpx.RemoteProtocolError),
        no_response=httpx.ReadTimeout,
        stream_stalled=httpx.ReadTimeout,
        error_response=ollama.ResponseError,
        describe_event_error=error_attributes("error", "status_code"),
        event_error=(ollama.ResponseError, MESSAGE, -1),
    ),
}


@pytest.fixture
def fault_errors(provider: str) -> FaultErrors:
    return FAULT_ERRORS[provider]


@pytest.mark.parametrize("provider", ALSO_BETA)
def test_a_cut_stream_says_that_the_connection_was_closed(
    live: Live, client: ProviderClient, fault_errors: FaultErrors
) -> None:
    load_fault(live, "disconnect")
    outcome = client.read_stream()
    assert (outcome.text.split(), outcome.end_markers) == (["one", "two"], [])
    assert fault_errors.stream_cut.matches(outcome.error)
    assert [row.outcome for row in live.requests()] == ["fault"]


@pytest.mark.parametrize("after", [0, 1, 4, 5])
def test_stream_is_cut_after_the_scripted_number_of_chunks(
    live: Live, client: ProviderClient, fault_errors: FaultErrors, after: int
) -> None:
    load_fault(live, "disconnect", after_chunks=after)
    outcome = client.read_stream()
    assert [piece.strip() for piece in outcome.pieces] == TEXT.split()[:after]
    assert outcome.end_markers == []
    assert fault_errors.stream_cut.matches(outcome.error)


def test_a_truncated_stream_raises_nothing_and_lacks_its_end(
    live: Live, client: ProviderClient
) -> None:
    load_fault(live, "truncate")
    outcome = client.stream()
    assert (outcome.text.split(), outcome.end_markers) == (["one", "two"], [])


@pytest.mark.parametrize("provider", ALSO_BETA)
def test_error_event_raises_the_error_of_the_client(
    live: Live, client: ProviderClient, fault_errors: FaultErrors
) -> None:
    load_fault(live, "error_event", message=MESSAGE, **fault_errors.event_fields)
    outcome = client.read_stream()
    assert outcome.text.split() == ["one", "two"]
    assert fault_errors.describe_event_error(outcome) == fault_errors.event_error


def test_a_malformed_chunk_cannot_be_read(
    live: Live, client: ProviderClient, fault_errors: FaultErrors
) -> None:
    load_fault(live, "malformed_chunk")
    outcome = client.read_stream()
    assert outcome.text.split() == ["one", "two"]
    assert isinstance(outcome.error, fault_errors.unreadable)


def test_stream_continues_after_a_short_stall(live: Live, client: ProviderClient) -> None:
    load_fault(live, "stall", hold_ms=50)
    assert client.stream().text == TEXT
    assert client.create() == TEXT


def test_stall_longer_than_the_timeout_raises(
    live: Live, client: ProviderClient, fault_errors: FaultErrors
) -> None:
    load_fault(live, "stall", hold_ms=60_000)
    # Long enough to receive the pieces before the stall.
    client.set_timeout(1.5)
    outcome = client.read_stream()
    assert outcome.text.split() == ["one", "two"]
    assert isinstance(outcome.error, fault_errors.stream_stalled)
    client.set_timeout(0.3)
    with pytest.raises(fault_errors.no_response):
        client.create()


def test_silent_server_raises_a_timeout(
    live: Live, client: ProviderClient, fault_errors: FaultErrors
) -> None:
    load_fault(live, "timeout", hold_ms=60_000)
    client.set_timeout(0.3)
    with pytest.raises(fault_errors.no_response):
        client.create()
    assert isinstance(client.read_stream().error, fault_errors.no_response)


@pytest.mark.parametrize("fault", [{"kind": "network_error"}, {"kind": "timeout", "hold_ms": 20}])
def test_no_answer_at_all_is_a_closed_connection(
    live: Live, client: ProviderClient, fault_errors: FaultErrors, fault: dict[str, Any]
) -> None:
    load_fault(live, **fault)
    assert all(map(fault_errors.connection_closed.matches, client.collect_errors()))
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
    live: Live, client: ProviderClient, kind: str
) -> None:
    error_class, status, name, message, retryable = OWN_ERRORS[client.provider][kind]
    load_fault(live, kind)
    for error in client.collect_errors():
        assert type(error) is error_class
        assert getattr(error, "status_code", getattr(error, "code", None)) == status
        assert name in str(vars(error)) and message in str(error)
        if response := getattr(error, "response", None):
            headers = response.headers
            assert headers.get("x-should-retry") == retryable
            assert headers.get("retry-after") == ("1" if kind == "rate_limited" else None)


def test_an_invalid_response_cannot_be_read(
    live: Live, client: ProviderClient, fault_errors: FaultErrors
) -> None:
    load_fault(live, "invalid_response")
    with pytest.raises(json.JSONDecodeError):
        client.create()
    assert isinstance(client.read_stream().error, fault_errors.unreadable)


def test_responses_without_a_stream_break(
    live: Live, client: ProviderClient, fault_errors: FaultErrors
) -> None:
    load_fault(live, "disconnect")
    with pytest.raises(fault_errors.connection_closed.error_class):
        client.create()
    for kind in ("truncate", "malformed_chunk"):
        load_fault(live, kind)
        with pytest.raises(json.JSONDecodeError):
            client.create()
    load_fault(live, "error_event", message="Broken.")
    with pytest.raises(fault_errors.error_response, match=r"Broken\."):
        client.create()
