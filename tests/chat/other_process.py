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
    """Make the mock give this answer to every request."""
    steps = [{"consume": False, "produce": answer}]
    load(load_documents({"scenarios": [{"name": "other", "steps": steps}]}))
    profile = default_profile()
    profile.mcp_servers = []
    profile.save()


def print_json(**values: Any) -> None:
    print(json.dumps(values), flush=True)


def answer(mock_answer: dict[str, Any], *, renew_seconds: float = 2.0) -> None:
    """Send a message; print every event of its answer and the number of stored events."""
    prepare(mock_answer)
    runs.RENEW_SECONDS = renew_seconds
    asyncio.run(_answer())
    loop.stop()


async def _answer() -> None:
    profile = await in_database(default_profile)
    handle = await send_message(None, "Hello", profile, client_id="reader")
    print_json(trace_id=str(handle.id))
    async for event in follow(handle.id):
        stored_count = await in_database(TraceEvent.objects.filter(trace=handle.id).count)
        print_json(seq=event.seq, type=event.type, payload=event.payload, stored=stored_count)


def send(mock_answer: dict[str, Any] | None, *, times: int) -> None:
    """Send the same message `times` times concurrently, once a line is read from standard input."""
    if mock_answer:
        prepare(mock_answer)
    print_json(ready=True)
    input()
    asyncio.run(_send(times))
    loop.stop()


async def _send(times: int) -> None:
    profile = await in_database(default_profile)
    send_once = partial(
        send_message, None, "Hello", profile, client_id="reader", client_message_id="m-1"
    )
    handles = await asyncio.gather(*(send_once() for _ in range(times)))
    print_json(
        traces=sorted({str(handle.id) for handle in handles}),
        started=sum(not handle.replayed for handle in handles),
    )
    async for event in follow(handles[0].id):
        last = event
    print_json(end=last.type, messages=await in_database(Message.objects.count))


def stop(trace_id: str) -> None:
    """Follow a run, cancel it at its first chunk, and cancel it again when it has ended."""
    asyncio.run(_stop(UUID(trace_id)))
    loop.stop()


async def _stop(trace_id: UUID) -> None:
    cancel_task = None
    async for event in follow(trace_id):
        print_json(seq=event.seq, type=event.type, payload=event.payload)
        if event.type == "chunk" and cancel_task is None:
            cancel_task = asyncio.create_task(_try_cancel(trace_id))
    assert cancel_task is not None
    print_json(cancelled=await cancel_task)
    print_json(cancelled=await _try_cancel(trace_id))


async def _try_cancel(trace_id: UUID) -> bool | str:
    try:
        await cancel(trace_id)
    except ChatError as error:
        return error.code
    return True


def print_stored_run(trace_id: str) -> None:
    """Print what is stored of a dead process's run, now and after each of two `end_dead_runs`."""
    _print_stored(trace_id)
    for _ in range(2):
        end_dead_runs()
        _print_stored(trace_id)


def _print_stored(trace_id: str) -> None:
    trace = Trace.objects.get(pk=trace_id)
    events = trace.events.order_by("seq").values("seq", "type", "payload")
    messages = Message.objects.filter(conversation=trace.conversation_id).order_by("number")
    print_json(
        status=trace.status,
        error=trace.error,
        events=list(events),
        messages=list(messages.values("sender", "status", "content")),
    )
