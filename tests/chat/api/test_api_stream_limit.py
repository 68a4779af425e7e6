"""Streams end at MOCKLLM_MAX_STREAM_SECONDS; runs go on and no event is lost."""

from collections.abc import Callable
from typing import Any

import pytest

from chat_app.api.event_stream import HEARTBEAT, encode_stream
from tests.chat.api_client import Api, Event, read_stream
from tests.chat.chat_helpers import scenario
from tests.chat.open_streams import open_stream
from tests.chat.scripts import ENDLESS
from tests.support.live_server import Live
from traces_app.log import RunLog
from traces_app.models import Trace


@pytest.fixture
def limit(settings: Any) -> Callable[[float], None]:
    def set_limit(seconds: float) -> None:
        settings.MOCKLLM_MAX_STREAM_SECONDS = seconds

    return set_limit


def test_stream_resumed_after_its_time_limit_gets_each_event_once(
    live: Live, api: Api, limit: Callable[[float], None]
) -> None:
    live.load(scenario(ENDLESS))
    limit(0.3)
    with open_stream(api) as stream:
        received_count, pieces = len(stream.read_to_end()), [stream.raw]
    path = f"stream/{stream.trace_id}"
    with open_stream(api, path, headers={"Last-Event-ID": str(received_count)}) as again:
        received_count, pieces = received_count + len(again.read_to_end()), [*pieces, again.raw]
    assert Trace.objects.get().status == "running"
    limit(600)
    api.post("cancel_stream", trace_id=stream.trace_id)
    complete_stream = api.follow(stream.trace_id)
    rest = api.follow(stream.trace_id, after=received_count)
    assert b"".join([*pieces, rest.raw]) == complete_stream.raw
    assert (rest.last["type"], rest.last["cancelled"]) == ("done", True)
    assert complete_stream.types.count("done") == 1


def test_runs_of_a_comparison_are_resumed_by_their_own_event_ids(
    live: Live, api: Api, limit: Callable[[float], None]
) -> None:
    live.load(scenario({**ENDLESS, "text": "a " * 2_000}, {**ENDLESS, "text": "b " * 2_000}))
    limit(0.5)
    pair = {"message": "Go on", "profile_a": None, "profile_b": None, "conversation_id": None}
    both = read_stream(api.post("ab/stream", **pair))
    assert "done" not in both.types
    limit(600)
    api.post("cancel_stream", conversation_id=both.conversation_id)
    for trace in Trace.objects.all():
        branch_events = [event for event in both.events if event.data["branch"] == trace.branch]
        rest = api.follow(str(trace.pk), after=len(branch_events))
        complete_stream = api.follow(str(trace.pk))
        assert [data_without_branch(event) for event in branch_events] + event_data(
            rest.events
        ) == event_data(complete_stream.events)
        assert complete_stream.last["type"] == "done"
    assert Trace.objects.count() == 2


async def test_silent_stream_ends_without_a_heartbeat() -> None:
    chunks = [
        piece
        async for piece in encode_stream(follow_empty_run(), heartbeat_seconds=60, max_seconds=0)
    ]
    assert chunks == []
    pieces = encode_stream(follow_empty_run(), heartbeat_seconds=0.01, max_seconds=60)
    assert await anext(pieces) == HEARTBEAT
    await pieces.aclose()


def follow_empty_run() -> Any:
    """Return the events of a run without any."""
    return RunLog().follow()


def data_without_branch(event: Event) -> dict[str, Any]:
    return {name: value for name, value in event.data.items() if name != "branch"}


def event_data(events: list[Event]) -> list[dict[str, Any]]:
    return [event.data for event in events]
