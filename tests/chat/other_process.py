"""Programs of other processes in tests of runs; each function prints JSON lines."""

import asyncio
import json
from functools import partial
from typing import Any
from uuid import UUID

from chat_app import loop
from chat_app.errors import ChatError
from chat_app.models import Message
from chat_app.profiles import default_profile
from chat_app.runs import registry as runs
from chat_app.service import cancel, send_message
from mockllm_site.kit.database_thread import in_database
from scenarios_app.engine.document import load_documents
from scenarios_app.store.documents import load
from traces_app.follow import follow
from traces_app.leases import end_dead_runs
from traces_app.models import Trace, TraceEvent


def prepare(answer: dict[str, Any]) -> None:
    """Let the mock give this answer to everything."""
    steps = [{"consume": False, "produce": answer}]
    load(load_documents({"scenarios": [{"name": "other", "steps": steps}]}))
    profile = default_profile()
    profile.mcp_servers = []
    profile.save()


def tell(**values: Any) -> None:
    print(json.dumps(values), flush=True)


def answer(said: dict[str, Any], *, renew_seconds: float = 2.0) -> None:
    """Send a message; tell of every event of its answer, and how many of them are stored."""
    prepare(said)
    runs.RENEW_SECONDS = renew_seconds
    asyncio.run(_answer())
    loop.stop()


async def _answer() -> None:
    profile = await in_database(default_profile)
    handle = await send_message(None, "Hello", profile, client_id="reader")
    tell(trace_id=str(handle.id))
    async for event in follow(handle.id):
        stored = await in_database(TraceEvent.objects.filter(trace=handle.id).count)
        tell(seq=event.seq, type=event.type, payload=event.payload, stored=stored)


def send(said: dict[str, Any] | None, *, times: int) -> None:
    """Send the same message many times at once, as soon as a line comes."""
    if said:
        prepare(said)
    tell(ready=True)
    input()
    asyncio.run(_send(times))
    loop.stop()


async def _send(times: int) -> None:
    profile = await in_database(default_profile)
    one = partial(send_message, None, "Hello", profile, client_id="reader", client_message_id="m-1")
    handles = await asyncio.gather(*(one() for _ in range(times)))
    tell(
        traces=sorted({str(handle.id) for handle in handles}),
        begun=sum(not handle.replayed for handle in handles),
    )
    async for event in follow(handles[0].id):
        last = event
    tell(end=last.type, messages=await in_database(Message.objects.count))


def stop(trace_id: str) -> None:
    """Follow a run, cancel it once it says something, and once more when it has ended."""
    asyncio.run(_stop(UUID(trace_id)))
    loop.stop()


async def _stop(trace_id: UUID) -> None:
    cancelling = None
    async for event in follow(trace_id):
        tell(seq=event.seq, type=event.type, payload=event.payload)
        if event.type == "chunk" and cancelling is None:
            cancelling = asyncio.create_task(_cancelled(trace_id))
    assert cancelling is not None
    tell(cancelled=await cancelling)
    tell(cancelled=await _cancelled(trace_id))


async def _cancelled(trace_id: UUID) -> bool | str:
    try:
        await cancel(trace_id)
    except ChatError as error:
        return error.code
    return True


def look(trace_id: str) -> None:
    """Tell what is stored of a run of a process that died: now, once it was looked after, and
    once more."""
    _tell_stored(trace_id)
    for _ in range(2):
        end_dead_runs()
        _tell_stored(trace_id)


def _tell_stored(trace_id: str) -> None:
    trace = Trace.objects.get(pk=trace_id)
    events = trace.events.order_by("seq").values("seq", "type", "payload")
    messages = Message.objects.filter(conversation=trace.conversation_id).order_by("number")
    tell(
        status=trace.status,
        error=trace.error,
        events=list(events),
        messages=list(messages.values("sender", "status", "content")),
    )
