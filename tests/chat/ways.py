"""A provider's client and the mock that answers it, over a socket or in process."""

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
        """Names and arguments by id."""
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
        """The one `Finished`, which is last."""
        assert self.error is None, self.error.__cause__
        kinds = [type(event) for event in self.events]
        assert kinds.count(Finished) == 1
        last = self.events[-1]
        assert isinstance(last, Finished)
        return last

    @property
    def failed(self) -> tuple[str, str]:
        """Code and message of the error; nothing was finished."""
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


def ask(client: SdkClient, model_request: ModelRequest) -> ReceivedAnswer:
    async def once() -> ReceivedAnswer:
        try:
            return await receive(client, model_request)
        finally:
            await client.aclose()

    return asyncio.run(once())


@dataclass
class Way:
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

    def ask(self, provider_id: str = "openai", *turns: Turn, **fields: Any) -> ReceivedAnswer:
        """One call by a client of its own, on a loop of its own."""
        return ask(self.client(provider_id), request(*turns, **fields))

    @property
    def mock_session(self) -> str:
        return self.session if self.in_process else self.live.session

    def rows(self) -> list[ServedRequest]:
        """The journal of this test's calls."""
        assert journal.flush()
        return list(ServedRequest.objects.filter(session=self.mock_session).order_by("pk"))

    async def counters(self) -> Mapping[str, int]:
        return (await services().state.read(self.mock_session)).counters

    def rows_when(self, count: int) -> list[ServedRequest]:
        """The journal once it has so many: over a socket, a server needs its time to notice."""
        until = time.monotonic() + 30
        while len(rows := self.rows()) < count and time.monotonic() < until:
            time.sleep(0.01)
        return rows

    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(row.request_body) for row in self.rows()]


def over_a_socket(live: Live, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Way:
    """As outside test mode, with the live server in the provider's place."""
    settings.MOCKLLM_ENV = "dev"
    settings.CHAT_ALLOWED_HOSTS = [f"127.0.0.1:{live.port}"]
    monkeypatch.setenv(KEY_VARIABLE, live.key)
    return Way(live, settings, in_process=False)


@pytest.fixture(params=["socket", "in process"])
def way(
    request: pytest.FixtureRequest,
    live: Live,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Way]:
    if request.param == "socket":
        yield over_a_socket(live, settings, monkeypatch)
    else:
        yield Way(live, settings, in_process=True)


def texts(*events_sent: str) -> tuple[TextPart, ...]:
    return tuple(map(TextPart, events_sent))
