"""Helpers for tests of the service: scenarios, profiles, messages, events, rows."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import pytest

from chat_app.conversations import create
from chat_app.models import Conversation, Message, ModelProfile
from chat_app.service import StreamHandle, send_message
from chat_app.values.events import StreamEvent
from chat_app.values.model_call import Finished, ModelRequest, ProviderEvent, TextPart
from mockllm_site.kit.database_thread import in_database
from scenarios_app.engine.document import load_documents
from scenarios_app.store.documents import load
from traces_app.follow import follow
from traces_app.log import LoggedEvent
from traces_app.models import Trace

OnRequest: TypeAlias = Callable[[ModelRequest], Awaitable[None]]


@dataclass(frozen=True)
class Chat:
    """One client, with a conversation and a profile that the mock answers in process."""

    client_id: str = "reader"

    async def script(self, *documents: Mapping[str, Any]) -> None:
        """Load scenarios that the mock answers from."""
        await in_database(lambda: load(load_documents({"scenarios": list(documents)})))

    async def script_texts(self, *texts: str, **produce: Any) -> None:
        """Load one scenario whose steps answer with these texts in order."""
        await self.script(scenario(*({"text": text, **produce} for text in texts)))

    async def profile(self, **values: Any) -> ModelProfile:
        columns = {"provider_id": "openai", "model_id": "gpt-4o", "base_url": "mock:", **values}
        columns.setdefault("name", f"profile-{uuid4().hex[:8]}")
        return await in_database(lambda: ModelProfile.objects.create(**columns))

    async def conversation(self) -> Conversation:
        return await in_database(lambda: create(self.client_id))

    async def send(
        self, text: str = "Hello", *, profile: ModelProfile | None = None, **options: Any
    ) -> StreamHandle:
        """Send a message, to a new conversation unless one is named."""
        if "conversation_id" not in options:
            options |= {"conversation_id": None, "client_id": self.client_id}
        profile = profile or await self.profile()
        return await send_message(options.pop("conversation_id"), text, profile, **options)


class ScriptedClient:
    """A provider client that yields fixed events after awaiting `on_request`."""

    def __init__(self, events: Sequence[ProviderEvent | Exception], on_request: OnRequest) -> None:
        self._events = events
        self._on_request = on_request

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        await self._on_request(request)
        for event in self._events:
            if isinstance(event, Exception):
                raise event
            yield event

    async def aclose(self) -> None:
        pass


def script_client(
    monkeypatch: pytest.MonkeyPatch,
    *events: ProviderEvent | Exception | str,
    on_request: OnRequest | None = None,
) -> None:
    """Replace every provider client by one that yields these events.

    A string stands for its text and the end of the answer. For timing that a mock cannot script."""
    event_script: list[ProviderEvent | Exception] = []
    for event in events:
        event_script += [TextPart(event), Finished("stop")] if isinstance(event, str) else [event]

    async def ignore_request(_: ModelRequest) -> None:
        pass

    def create_client(profile: ModelProfile, *, session: str) -> ScriptedClient:
        return ScriptedClient(event_script, on_request or ignore_request)

    monkeypatch.setattr("chat_app.runs.answer.get_client", create_client)


def scenario(*answers: Mapping[str, Any], name: str = "talk", **values: Any) -> dict[str, Any]:
    """Return a scenario whose steps give these answers in order."""
    return {"name": name, "steps": [{"produce": answer} for answer in answers], **values}


async def events_of(handle: StreamHandle) -> list[StreamEvent]:
    return [event async for event in handle.events()]


async def log_of(trace_id: UUID, *, after: int = 0) -> list[LoggedEvent]:
    return [event async for event in follow(trace_id, after=after)]


async def trace_of(handle: StreamHandle) -> Trace:
    rows = Trace.objects.select_related("message", "user_message")
    return await in_database(lambda: rows.get(pk=handle.id))


async def messages_of(handle: StreamHandle) -> list[Message]:
    rows = Message.objects.filter(conversation=handle.conversation_id).order_by("number")
    return await in_database(lambda: list(rows))


def text_of(log: list[LoggedEvent]) -> str:
    """Return the text of a log's chunks."""
    return "".join(event.payload["content"] for event in log if event.type == "chunk")
