"""The mock as a provider, with clients that call it over a socket or in process."""

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest

from chat_app.clients.registry import get_client
from chat_app.clients.sdk import SdkClient
from chat_app.errors import ChatError
from chat_app.models import ModelProfile
from chat_app.values.model_call import (
    CallArguments,
    CallStarted,
    Finished,
    ModelRequest,
    ProviderEvent,
    TextPart,
    ThinkingPart,
    Turn,
    UserTurn,
)
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from scenarios_app.serving.services import services
from tests.support.live_server import Live

FAMILIES = ("openai", "anthropic", "google")
KEY_VARIABLE = "CHAT_TEST_KEY"
MODEL = "model-1"
HELLO = UserTurn("Hello")


def profile(provider_id: str = "openai", **columns: Any) -> ModelProfile:
    return ModelProfile(**{"provider_id": provider_id, "model_id": MODEL, **columns})


def request(*turns: Turn, **fields: Any) -> ModelRequest:
    return ModelRequest(**{"model": MODEL, "turns": turns or (HELLO,), **fields})


@dataclass
class ReceivedAnswer:
    """The events of one call, and the error that it raised, if any."""

    events: list[ProviderEvent] = field(default_factory=list)
    error: ChatError | None = None

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextPart))

    @property
    def thinking(self) -> list[ThinkingPart]:
        return [event for event in self.events if isinstance(event, ThinkingPart)]

    @property
    def calls(self) -> dict[str, tuple[str, str]]:
        """Return the names and arguments of tool calls by id."""
        calls: dict[str, tuple[str, str]] = {}
        for event in self.events:
            match event:
                case CallStarted(call_id, name):
                    assert call_id not in calls
                    calls[call_id] = (name, "")
                case CallArguments(call_id, text):
                    name, arguments = calls[call_id]
                    calls[call_id] = (name, arguments + text)
        return calls

    @property
    def finished(self) -> Finished:
        """Return the `Finished` event, asserting that it is the last and only one."""
        assert self.error is None, self.error.__cause__
        kinds = [type(event) for event in self.events]
        assert kinds.count(Finished) == 1
        last = self.events[-1]
        assert isinstance(last, Finished)
        return last

    @property
    def failure(self) -> tuple[str, str]:
        """Return the error's code and message, asserting that no `Finished` came."""
        assert self.error is not None
        assert not any(isinstance(event, Finished) for event in self.events)
        return self.error.code, self.error.message


async def receive(
    client: SdkClient, model_request: ModelRequest, *, received: ReceivedAnswer | None = None
) -> ReceivedAnswer:
    """Stream an answer into `received` and return it."""
    received = received or ReceivedAnswer()
    try:
        async for event in client.stream(model_request):
            received.events.append(event)
    except ChatError as error:
        received.error = error
    return received


def receive_once(client: SdkClient, model_request: ModelRequest) -> ReceivedAnswer:
    """Receive one answer on a new event loop and close the client."""

    async def receive_and_close() -> ReceivedAnswer:
        try:
            return await receive(client, model_request)
        finally:
            await client.aclose()

    return asyncio.run(receive_and_close())


@dataclass
class MockProvider:
    """The mock as a provider; `in_process` tells whether clients reach it without a socket."""

    live: Live
    settings: Any
    in_process: bool
    session: str = field(default_factory=lambda: f"chat-{uuid4()}")

    def client(self, provider_id: str = "openai", **columns: Any) -> SdkClient:
        if not self.in_process:
            base = self.live.openai_base_url
            if provider_id in ("anthropic", "google"):
                base = self.live.base_url
            columns = {"base_url": base, "api_key_env": KEY_VARIABLE, **columns}
        return get_client(profile(provider_id, **columns), session=self.session)

    def call(self, provider_id: str = "openai", *turns: Turn, **fields: Any) -> ReceivedAnswer:
        """Make one call with a new client on a new event loop."""
        return receive_once(self.client(provider_id), request(*turns, **fields))

    @property
    def mock_session(self) -> str:
        return self.session if self.in_process else self.live.session

    def journal_rows(self) -> list[ServedRequest]:
        """Return the journal rows of this test's calls."""
        assert journal.flush()
        return list(ServedRequest.objects.filter(session=self.mock_session).order_by("pk"))

    async def counters(self) -> Mapping[str, int]:
        return (await services().state.read(self.mock_session)).counters

    def wait_for_rows(self, count: int) -> list[ServedRequest]:
        """Return the journal rows once there are `count`; closed sockets are journaled later."""
        deadline = time.monotonic() + 30
        while len(rows := self.journal_rows()) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        return rows

    def request_bodies(self) -> list[dict[str, Any]]:
        return [json.loads(row.request_body) for row in self.journal_rows()]


def connect_over_socket(live: Live, settings: Any, monkeypatch: pytest.MonkeyPatch) -> MockProvider:
    """Return the live server as a provider outside test mode."""
    settings.MOCKLLM_ENV = "dev"
    settings.CHAT_ALLOWED_HOSTS = [f"127.0.0.1:{live.port}"]
    monkeypatch.setenv(KEY_VARIABLE, live.key)
    return MockProvider(live, settings, in_process=False)


@pytest.fixture(params=["socket", "in process"])
def mock_provider(
    request: pytest.FixtureRequest,
    live: Live,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[MockProvider]:
    if request.param == "socket":
        yield connect_over_socket(live, settings, monkeypatch)
    else:
        yield MockProvider(live, settings, in_process=True)


def text_parts(*contents: str) -> tuple[TextPart, ...]:
    return tuple(map(TextPart, contents))
