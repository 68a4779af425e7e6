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


class SlowCancelHandler:
    """A cancel handler that records runs and blocks until `may_end` is set."""

    def __init__(self) -> None:
        self.cancelled_runs: list[UUID] = []
        self.cancel_received, self.may_end = asyncio.Event(), asyncio.Event()

    async def __call__(self, trace_id: UUID) -> None:
        self.cancelled_runs.append(trace_id)
        self.cancel_received.set()
        await self.may_end.wait()


@pytest.fixture
async def cancel_handler(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SlowCancelHandler]:
    layer, handler = InMemoryChannelLayer(), SlowCancelHandler()
    monkeypatch.setattr(signal, "_shared_channel_layer", lambda: layer)
    listener = asyncio.create_task(signal.listen_for_cancels(handler))
    async with asyncio.timeout(SECONDS):
        while not layer.groups:
            await asyncio.sleep(0)
        yield handler
    listener.cancel()
    await asyncio.wait({listener})


async def test_requester_is_notified_after_the_run_has_ended(
    cancel_handler: SlowCancelHandler,
) -> None:
    run_id, other_id = uuid4(), uuid4()
    with (
        signal.end_notification(run_id) as notified,
        signal.end_notification(other_id) as not_notified,
    ):
        await signal.request_cancel(current_owner(), run_id)
        await cancel_handler.cancel_received.wait()
        assert not notified.is_set()
        cancel_handler.may_end.set()
        await notified.wait()
        assert not not_notified.is_set()
    assert cancel_handler.cancelled_runs == [run_id]
    assert not signal._waiting


async def test_unreachable_layer_logs_one_line_and_other_errors_a_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    errors: list[Exception] = [ConnectionRefusedError("no"), RedisError("no"), ValueError("bug")]
    all_errors_raised = asyncio.Event()

    class UnreachableLayer(InMemoryChannelLayer):
        async def new_channel(self, prefix: str = "") -> str:
            if errors:
                raise errors.pop(0)
            all_errors_raised.set()
            await asyncio.sleep(SECONDS)
            return ""

    monkeypatch.setattr(signal, "_shared_channel_layer", UnreachableLayer)
    monkeypatch.setattr(signal, "RETRY_SECONDS", 0)
    listener = asyncio.create_task(signal.listen_for_cancels(SlowCancelHandler()))
    async with asyncio.timeout(SECONDS):
        await all_errors_raised.wait()
    listener.cancel()
    await asyncio.wait({listener})
    log_lines = [(record.levelname, record.exc_info is not None) for record in caplog.records]
    assert log_lines == [("WARNING", False), ("ERROR", True)]


async def test_slow_cancel_does_not_delay_others(cancel_handler: SlowCancelHandler) -> None:
    await signal.request_cancel(current_owner(), uuid4())
    await cancel_handler.cancel_received.wait()
    cancel_handler.cancel_received.clear()
    await signal.request_cancel(current_owner(), uuid4())
    await cancel_handler.cancel_received.wait()
    assert len(cancel_handler.cancelled_runs) == 2
    cancel_handler.may_end.set()
