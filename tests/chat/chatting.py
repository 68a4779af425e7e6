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
        """Scenarios that the mock answers from."""
        await in_database(lambda: load(load_documents({"scenarios": list(documents)})))

    async def says(self, *texts: str, **produce: Any) -> None:
        """Let the mock give these answers, one after another."""
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


class Scripted:
    """A client that says what it is told to, after `asked` was awaited with the request."""

    def __init__(self, events: Sequence[ProviderEvent | Exception], on_request: OnRequest) -> None:
        self._events = events
        self._asked = on_request

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        await self._asked(request)
        for event in self._events:
            if isinstance(event, Exception):
                raise event
            yield event

    async def aclose(self) -> None:
        pass


def scripted(
    monkeypatch: pytest.MonkeyPatch,
    *events: ProviderEvent | Exception | str,
    on_request: OnRequest | None = None,
) -> None:
    """Have every client say these events: for what no provider can be brought to do on time.
    One that is text alone says it and finishes."""
    script: list[ProviderEvent | Exception] = []
    for event in events:
        script += [TextPart(event), Finished("stop")] if isinstance(event, str) else [event]

    async def nothing(_: ModelRequest) -> None:
        pass

    def client(profile: ModelProfile, *, session: str) -> Scripted:
        return Scripted(script, on_request or nothing)

    monkeypatch.setattr("chat_app.runs.answer.get_client", client)


def scenario(*answers: Mapping[str, Any], name: str = "talk", **values: Any) -> dict[str, Any]:
    """A scenario that gives these answers, one after another."""
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
