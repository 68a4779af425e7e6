"""Messages between processes about runs, over a channel layer."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest
from channels.layers import InMemoryChannelLayer
from redis.exceptions import RedisError

from chat_app.runs import cancel_channel as signal
from traces_app.leases import current_owner

SECONDS = 10.0


class Cancelling:
    """A process that takes its time to end a run."""

    def __init__(self) -> None:
        self.asked: list[UUID] = []
        self.begun, self.ends = asyncio.Event(), asyncio.Event()

    async def __call__(self, trace_id: UUID) -> None:
        self.asked.append(trace_id)
        self.begun.set()
        await self.ends.wait()


@pytest.fixture
async def cancelling(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cancelling]:
    layer, cancelling = InMemoryChannelLayer(), Cancelling()
    monkeypatch.setattr(signal, "_shared_channel_layer", lambda: layer)
    hearing = asyncio.create_task(signal.listen_for_cancels(cancelling))
    async with asyncio.timeout(SECONDS):
        while not layer.groups:
            await asyncio.sleep(0)
        yield cancelling
    hearing.cancel()
    await asyncio.wait({hearing})


async def test_requester_is_notified_after_the_run_has_ended(cancelling: Cancelling) -> None:
    mine, other = uuid4(), uuid4()
    with signal.end_notification(mine) as notified, signal.end_notification(other) as not_notified:
        await signal.request_cancel(current_owner(), mine)
        await cancelling.begun.wait()
        assert not notified.is_set()
        cancelling.ends.set()
        await notified.wait()
        assert not not_notified.is_set()
    assert cancelling.asked == [mine]
    assert not signal._waiting


async def test_layer_that_is_away_is_one_line_and_another_error_all_that_is_known(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    errors: list[Exception] = [ConnectionRefusedError("no"), RedisError("no"), ValueError("bug")]
    tried = asyncio.Event()

    class Away(InMemoryChannelLayer):  # type: ignore[misc]
        async def new_channel(self, prefix: str = "") -> str:
            if errors:
                raise errors.pop(0)
            tried.set()
            await asyncio.sleep(SECONDS)
            return ""

    monkeypatch.setattr(signal, "_shared_channel_layer", Away)
    monkeypatch.setattr(signal, "RETRY_SECONDS", 0)
    hearing = asyncio.create_task(signal.listen_for_cancels(Cancelling()))
    async with asyncio.timeout(SECONDS):
        await tried.wait()
    hearing.cancel()
    await asyncio.wait({hearing})
    log_lines = [(one.levelname, one.exc_info is not None) for one in caplog.records]
    assert log_lines == [("WARNING", False), ("ERROR", True)]


async def test_one_run_that_ends_slowly_keeps_no_other_waiting(cancelling: Cancelling) -> None:
    await signal.request_cancel(current_owner(), uuid4())
    await cancelling.begun.wait()
    cancelling.begun.clear()
    await signal.request_cancel(current_owner(), uuid4())
    await cancelling.begun.wait()
    assert len(cancelling.asked) == 2
    cancelling.ends.set()
