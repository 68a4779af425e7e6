"""A run goes on without its client and can be followed from any event on.

A resumed stream has the same bytes as an uninterrupted one."""

import random
import time
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from django.db import OperationalError
from django.utils import timezone

from chat_app.api import event_stream as streaming
from chat_app.api import runs
from tests.chat.api_client import TIMEOUT_SECONDS, UNKNOWN_ID, Api, error_of, without_comments
from tests.chat.chat_helpers import scenario
from tests.chat.open_streams import open_stream
from tests.chat.scripts import ENDLESS, call_tool
from tests.support.live_server import Live
from tests.traces.rows import dead_owner
from traces_app.log import LoggedEvent
from traces_app.models import Trace

SEEDS = [
    *range(20),
    *(pytest.param(seed, marks=pytest.mark.long) for seed in range(20, 100)),
]
SLOW_PACING = {"words_per_chunk": 1, "words_per_second": 40}


def test_run_goes_on_when_its_client_leaves(live: Live, api: Api) -> None:
    live.load(scenario({"text": "one two three four five six", "pacing": SLOW_PACING}))
    with open_stream(api) as first:
        first.read_events(2)
    stream = api.follow(first.trace_id)
    assert (stream.text, stream.last["type"]) == ("one two three four five six", "done")
    assert Trace.objects.get().status == "completed"


def test_resumed_stream_gets_the_missing_events_and_then_the_rest(live: Live, api: Api) -> None:
    live.load(scenario({"text": "one two three four five six", "pacing": SLOW_PACING}))
    with open_stream(api) as first:
        events_read = first.read_events(3)
    rest = api.follow(first.trace_id, after=events_read[-1].id)
    assert rest.events[0].id == events_read[-1].id + 1
    complete_stream = api.follow(first.trace_id)
    assert first.raw + rest.raw == complete_stream.raw


def test_last_event_id_header_takes_precedence_over_after(live: Live, api: Api) -> None:
    live.load(scenario({"text": "a b c d", "pacing": {"words_per_chunk": 1}}))
    complete_stream = api.send()
    path = f"stream/{complete_stream.trace_id}"
    response = api.request(
        "GET", path, params={"client_id": api.client_id}, headers={"Last-Event-ID": "2"}
    )
    assert without_comments(response.content) == complete_stream.raw.split(b"\n\n", 2)[2]
    both = {"client_id": api.client_id, "after": 4}
    again = api.request("GET", path, params=both, headers={"Last-Event-ID": "2"})
    assert again.content == response.content


def test_several_clients_may_follow_one_run(live: Live, api: Api) -> None:
    live.load(scenario({"text": "one two three four", "pacing": SLOW_PACING}))
    with open_stream(api) as first, open_stream(api, f"stream/{first.trace_id}") as second:
        first.read_to_end()
        second.read_to_end()
    assert first.raw == second.raw


def test_resuming_after_the_terminal_event_is_204(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi"}))
    stream = api.send()
    last = stream.events[-1].id
    path = f"stream/{stream.trace_id}"
    assert api.get(path, after=last).status_code == 204
    by_header = api.request(
        "GET", path, params={"client_id": api.client_id}, headers={"Last-Event-ID": str(last)}
    )
    assert by_header.status_code == 204


@pytest.mark.parametrize("last_sent", [2, 3, 500])
def test_run_of_a_dead_process_gives_its_terminal_event_once(
    live: Live, api: Api, last_sent: int
) -> None:
    """Two events are stored; the dead process may have sent more of them."""
    live.load(scenario({"text": "Hi"}))
    run = Trace.objects.filter(pk=api.send().trace_id)
    run.get().events.filter(seq__gt=2).delete()
    run.update(status="running", owner=dead_owner())
    rest = api.follow(str(run.get().pk), after=last_sent)
    assert [event.type for event in rest.events] == ["error"]
    assert api.get(f"stream/{run.get().pk}", after=rest.events[0].id).status_code == 204


@pytest.mark.parametrize("beyond", [1, 10, 2**31, 2**63, 10**18])
def test_resuming_beyond_the_end_gets_the_terminal_event_again(
    live: Live, api: Api, beyond: int
) -> None:
    live.load(scenario({"text": "Hi"}))
    stream = api.send()
    again = api.follow(stream.trace_id, after=stream.events[-1].id + beyond)
    assert again.events == stream.events[-1:]


def test_resuming_beyond_a_live_run_gets_its_terminal_event(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with open_stream(api) as first:
        first.read_events(2)
        with open_stream(api, f"stream/{first.trace_id}", after=10**6) as lost:
            api.post("cancel_stream", trace_id=first.trace_id)
            assert [event.data["type"] for event in lost.read_to_end()] == ["done"]


@pytest.mark.parametrize(
    "last_event_id", ["x", "-1", "1.5", "1 2", "+1", "0x1", "²", "9" * 20, "9" * 9_000]
)
def test_a_last_event_id_that_is_no_number_is_refused(
    live: Live, api: Api, last_event_id: str
) -> None:
    live.load(scenario({"text": "Hi"}))
    trace_id = api.send().trace_id
    query = {"client_id": api.client_id}
    headers = {"Last-Event-ID": last_event_id.encode()}
    response = api.request("GET", f"stream/{trace_id}", params=query, headers=headers)
    assert error_of(response) == (400, "VALIDATION_ERROR", "Last-Event-ID")


@pytest.mark.parametrize("after", ["x", "-1", "1.5", "9" * 5_000])
def test_invalid_after_is_refused(live: Live, api: Api, after: str) -> None:
    response = api.get(f"stream/{uuid4()}", after=after)
    assert error_of(response) == (400, "VALIDATION_ERROR", "after")


@pytest.mark.parametrize("trace_id", [UNKNOWN_ID, "nonsense", "1", "%00"])
def test_unknown_run_is_not_found(live: Live, api: Api, trace_id: str) -> None:
    assert error_of(api.get(f"stream/{trace_id}")) == (404, "NOT_FOUND", "trace_id")


def test_stream_without_client_id_is_refused(live: Live, api: Api) -> None:
    response = api.request("GET", f"stream/{uuid4()}")
    assert error_of(response) == (400, "VALIDATION_ERROR", "client_id")


def test_silent_run_sends_heartbeats(live: Live, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "HEARTBEAT_SECONDS", 0.05)
    live.load(scenario(call_tool("slow", seconds=600), {"text": "Not today."}))
    with open_stream(api) as stream:
        stream.read_until(b": still here\n\n", times=3)
        api.post("cancel_stream", trace_id=stream.trace_id)
        assert stream.read_to_end()[-1].type == "done"
    assert stream.raw == api.follow(stream.trace_id).raw


@pytest.mark.parametrize("kind", ["text", "tools"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_stream_that_is_dropped_and_resumed_gives_identical_bytes(
    live: Live, api: Api, kind: str, seed: int
) -> None:
    """The stream is dropped after random events, one to three times."""
    drop_and_resume(live, api, kind, seed=seed)


def drop_and_resume(live: Live, api: Api, kind: str, *, seed: int) -> None:
    chance = random.Random(seed)
    words = " ".join(f"word{number}" for number in range(chance.randint(5, 40)))
    pacing = {"words_per_chunk": 1, "words_per_second": chance.choice([0, 200, 500])}
    answer: dict[str, Any] = {"reasoning": "First I think.", "text": words, "pacing": pacing}
    first = [call_tool("long", length=chance.randint(0, 30_000))] if kind == "tools" else []
    live.load(scenario(*first, answer))
    with open_stream(api) as stream:
        stream.read_events(chance.randint(1, 10))
    pieces, events_read = [stream.raw], len(stream.events)
    trace_id = stream.trace_id
    for _ in range(chance.randint(0, 2)):
        if _has_ended(api, trace_id, after=events_read):
            break
        with open_stream(api, f"stream/{trace_id}", after=events_read) as stream:
            stream.read_events(chance.randint(1, 10))
        pieces.append(stream.raw)
        events_read += len(stream.events)
    if not _has_ended(api, trace_id, after=events_read):
        pieces.append(api.follow(trace_id, after=events_read).raw)
    complete_stream = api.follow(trace_id)
    assert b"".join(pieces) == complete_stream.raw
    assert (complete_stream.text, complete_stream.last["type"]) == (words, "done")


def _has_ended(api: Api, trace_id: str, *, after: int) -> bool:
    url = f"{api.base_url}/api/stream/{trace_id}"
    query: dict[str, str | int] = {"client_id": api.client_id, "after": after}
    with httpx2.stream("GET", url, params=query, timeout=TIMEOUT_SECONDS) as response:
        return response.status_code == 204


def test_abandoned_streams_leave_no_tasks(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with open_stream(api) as first:
        first.read_events(1)
    before = live.server.tasks()
    for number in range(20):
        with open_stream(api, f"stream/{first.trace_id}", after=number % 3) as stream:
            stream.read_events(number % 4)
    wait_until(lambda: live.server.tasks() <= before and not streaming._open)
    api.post("cancel_stream", trace_id=first.trace_id)


def test_unreadable_run_cuts_the_connection(
    live: Live, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail_after_one_event(*_: Any, **__: Any) -> AsyncIterator[LoggedEvent]:
        yield LoggedEvent(1, "started", {}, timezone.now())
        raise OperationalError("gone")

    live.load(scenario({"text": "Hi"}))
    trace_id = api.send().trace_id
    monkeypatch.setattr(runs, "follow", fail_after_one_event)
    url = f"{api.base_url}/api/stream/{trace_id}"
    with pytest.raises(httpx2.RemoteProtocolError):
        httpx2.get(url, params={"client_id": api.client_id}, timeout=TIMEOUT_SECONDS)
    wait_until(lambda: not streaming._open)


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition; the server notices a closed connection with a delay."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
