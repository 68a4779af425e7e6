"""Broken answers, and what OpenAI's client and Ollama's raise for each."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import httpx2
import ollama
import openai
import pytest

from tests.live import Live
from tests.sdk.conftest import SYNC_OR_ASYNC, ollama_of, openai_of
from tests.sdk.faults import TEXT, load
from tests.sdk.ollama.ollama_talk import OllamaTalk
from tests.sdk.ollama.test_ollama_answers import HELLO as LLAMA_HELLO
from tests.sdk.openai.openai_talk import OpenAITalk
from tests.sdk.openai.test_openai_answers import HELLO as CHAT_HELLO


@dataclass
class Client:
    """A client that is asked the same each time: what it makes of an answer, and what it raises
    where the connection is closed, where nothing comes, and for an error inside an answer."""

    talk: OpenAITalk | OllamaTalk
    hello: dict[str, Any]
    said: Callable[[Any], str]
    pieces: Callable[[Any], list[str]]
    reasons: Callable[[Any], list[str]]
    closed: type[Exception]
    cause: type[Exception] | None
    silent: type[Exception]
    told: Callable[[Any], tuple[type[BaseException], str, object]]
    error: tuple[type[BaseException], str, object]
    refused: type[Exception]

    def whole(self) -> str:
        return self.said(self.talk.whole(**self.hello))

    def stream(self) -> Any:
        return self.talk.stream(**self.hello)

    def broken(self) -> Any:
        return self.talk.broken(**self.hello)

    def is_cut(self, error: BaseException | None) -> bool:
        """Whether it says that the connection was closed, and why."""
        cause = self.cause is None or isinstance(error and error.__cause__, self.cause)
        return type(error) is self.closed and cause


def openais(chat: OpenAITalk) -> Client:
    return Client(
        chat,
        CHAT_HELLO,
        said=lambda answer: answer.choices[0].message.content,
        pieces=lambda seen: [o.delta.content or "" for c in seen.chunks for o in c.choices],
        reasons=lambda seen: seen.finish_reasons,
        closed=openai.APIConnectionError,
        cause=httpx2.RemoteProtocolError,
        silent=openai.APITimeoutError,
        told=lambda error: (type(error), error.message, error.code),
        error=(openai.APIError, "The model fell over.", "fell_over"),
        refused=openai.InternalServerError,
    )


def ollamas(llama: OllamaTalk) -> Client:
    return Client(
        llama,
        LLAMA_HELLO,
        said=lambda answer: answer.message.content,
        pieces=lambda seen: [message.content or "" for message in seen.messages],
        reasons=lambda seen: seen.done_reasons,
        closed=httpx.RemoteProtocolError,
        cause=None,
        silent=httpx.ReadTimeout,
        told=lambda error: (type(error), error.error, error.status_code),
        error=(ollama.ResponseError, "The model fell over.", -1),
        refused=ollama.ResponseError,
    )


@pytest.fixture(params=["openai", "ollama"])
def provider(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=SYNC_OR_ASYNC)
def client(request: pytest.FixtureRequest, live: Live, provider: str) -> Client:
    if provider == "openai":
        return openais(openai_of(live, request.param))
    return ollamas(ollama_of(live, request.param))


def test_a_cut_stream_says_that_the_connection_was_closed(live: Live, client: Client) -> None:
    load(live, "disconnect")
    seen = client.broken()
    assert (seen.text.split(), client.reasons(seen)) == (["one", "two"], [])
    assert client.is_cut(seen.error)
    assert [row.outcome for row in live.requests()] == ["fault"]


@pytest.mark.parametrize("after", [0, 1, 4, 5])
def test_a_cut_comes_after_exactly_so_many_chunks(live: Live, client: Client, after: int) -> None:
    load(live, "disconnect", after_chunks=after)
    seen = client.broken()
    pieces = [piece.strip() for piece in client.pieces(seen) if piece]
    assert (pieces, client.reasons(seen)) == (TEXT.split()[:after], [])
    assert client.is_cut(seen.error)


def test_a_truncated_stream_raises_nothing_and_lacks_its_end(live: Live, client: Client) -> None:
    load(live, "truncate")
    seen = client.stream()
    assert (seen.text.split(), client.reasons(seen)) == (["one", "two"], [])


def test_an_error_inside_the_stream_is_the_clients_own(live: Live, client: Client) -> None:
    load(live, "error_event", message="The model fell over.", code="fell_over")
    seen = client.broken()
    assert seen.text.split() == ["one", "two"]
    assert client.told(seen.error) == client.error


def test_a_malformed_chunk_cannot_be_read(live: Live, client: Client) -> None:
    load(live, "malformed_chunk")
    seen = client.broken()
    assert seen.text.split() == ["one", "two"]
    assert isinstance(seen.error, json.JSONDecodeError)


def test_a_stall_goes_on(live: Live, client: Client) -> None:
    load(live, "stall", hold_ms=50)
    assert client.stream().text == TEXT
    assert client.whole() == TEXT


def test_a_stall_that_outlasts_the_clients_patience(live: Live, client: Client) -> None:
    load(live, "stall", hold_ms=60_000)
    # Not so little that the pieces before it could take as long.
    client.talk.given["timeout"] = 1.5
    seen = client.broken()
    assert seen.text.split() == ["one", "two"]
    assert isinstance(seen.error, client.silent)
    client.talk.given["timeout"] = 0.3
    with pytest.raises(client.silent):
        client.whole()


def test_a_server_that_keeps_silent_is_a_timeout(live: Live, client: Client) -> None:
    load(live, "timeout", hold_ms=60_000)
    client.talk.given["timeout"] = 0.3
    with pytest.raises(client.silent):
        client.whole()
    assert isinstance(client.broken().error, client.silent)


@pytest.mark.parametrize("fault", [{"kind": "network_error"}, {"kind": "timeout", "hold_ms": 20}])
def test_no_answer_at_all_is_a_closed_connection(
    live: Live, client: Client, fault: dict[str, Any]
) -> None:
    load(live, **fault)
    for ask in (client.whole, client.stream):
        with pytest.raises(client.closed) as raised:
            ask()
        assert client.is_cut(raised.value)
    assert [row.outcome for row in live.requests()] == ["fault", "fault"]


def test_an_invalid_response_cannot_be_read(live: Live, client: Client) -> None:
    load(live, "invalid_response")
    with pytest.raises(json.JSONDecodeError):
        client.whole()
    assert isinstance(client.broken().error, json.JSONDecodeError)


def test_whole_answers_break_too(live: Live, client: Client) -> None:
    load(live, "disconnect")
    with pytest.raises(client.closed):
        client.whole()
    load(live, "truncate")
    with pytest.raises(json.JSONDecodeError):
        client.whole()
    load(live, "error_event", message="Broken.")
    with pytest.raises(client.refused, match=r"Broken\."):
        client.whole()
