"""Streams end at MOCKLLM_MAX_STREAM_SECONDS; runs do not, and nothing of them is lost."""

from collections.abc import Callable
from typing import Any

import pytest

from chat_app.api.event_stream import HEARTBEAT, encode_stream
from tests.chat.asking import Api, Event, read
from tests.chat.chatting import scenario
from tests.chat.open_streams import opened
from tests.chat.scripts import ENDLESS
from tests.support.live_server import Live
from traces_app.log import RunLog
from traces_app.models import Trace


@pytest.fixture
def limit(settings: Any) -> Callable[[float], None]:
    def to(seconds: float) -> None:
        settings.MOCKLLM_MAX_STREAM_SECONDS = seconds

    return to


def test_stream_resumed_after_its_time_limit_gets_each_event_once(
    live: Live, api: Api, limit: Callable[[float], None]
) -> None:
    live.load(scenario(ENDLESS))
    limit(0.3)
    with opened(api) as stream:
        known, pieces = len(stream.read()), [stream.raw]
    path = f"stream/{stream.trace_id}"
    with opened(api, path, headers={"Last-Event-ID": str(known)}) as again:
        known, pieces = known + len(again.read()), [*pieces, again.raw]
    assert Trace.objects.get().status == "running"
    limit(600)
    api.post("cancel_stream", trace_id=stream.trace_id)
    whole = api.follow(stream.trace_id)
    rest = api.follow(stream.trace_id, after=known)
    assert b"".join([*pieces, rest.raw]) == whole.raw
    assert (rest.last["type"], rest.last["cancelled"]) == ("done", True)
    assert whole.types.count("done") == 1


def test_after_the_limit_of_a_comparison_each_run_is_followed_by_its_own_numbers(
    live: Live, api: Api, limit: Callable[[float], None]
) -> None:
    live.load(scenario({**ENDLESS, "text": "a " * 2_000}, {**ENDLESS, "text": "b " * 2_000}))
    limit(0.5)
    pair = {"message": "Go on", "profile_a": None, "profile_b": None, "conversation_id": None}
    both = read(api.post("ab/stream", **pair))
    assert "done" not in both.types
    limit(600)
    api.post("cancel_stream", conversation_id=both.conversation_id)
    for trace in Trace.objects.all():
        told = [event for event in both.events if event.data["branch"] == trace.branch]
        rest = api.follow(str(trace.pk), after=len(told))
        whole = api.follow(str(trace.pk))
        assert [unbranched(event) for event in told] + payloads(rest.events) == payloads(
            whole.events
        )
        assert whole.last["type"] == "done"
    assert Trace.objects.count() == 2


async def test_a_silent_stream_ends_without_a_sign_of_life() -> None:
    told = [piece async for piece in encode_stream(silence(), heartbeat_seconds=60, max_seconds=0)]
    assert told == []
    pieces = encode_stream(silence(), heartbeat_seconds=0.01, max_seconds=60)
    assert await anext(pieces) == HEARTBEAT
    await pieces.aclose()


def silence() -> Any:
    """The events of a run that says nothing."""
    return RunLog().follow()


def unbranched(event: Event) -> dict[str, Any]:
    return {name: value for name, value in event.data.items() if name != "branch"}


def payloads(events: list[Event]) -> list[dict[str, Any]]:
    return [event.data for event in events]
