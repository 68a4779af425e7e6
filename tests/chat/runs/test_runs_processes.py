"""Runs of several processes on one database: killed, cancelled and followed from elsewhere."""

import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.chat.scripts import ENDLESS
from tests.state.other_process import postgres_database
from tests.support import migrated_database
from tests.support.line_process import Process, start_process
from tests.support.required_services import require
from traces_app.leases import MAX_UNSTORED_EVENTS

REDIS = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/0")
IMPORT = "from tests.chat import other_process as other\n"


class SharedDatabase:
    """A database that processes share, and optionally Redis."""

    def __init__(self, database: str, folder: Path, redis: str = "") -> None:
        self._database = database
        self._folder = folder
        self._redis = redis

    def process(self, call: str) -> AbstractContextManager[Process]:
        script = f"{IMPORT}other.{call}"
        return start_process(self._database, script, folder=self._folder, REDIS_URL=self._redis)


@pytest.fixture(params=["sqlite", "postgres"])
def shared_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SharedDatabase]:
    """A shared database without Redis."""
    if request.param == "sqlite":
        migrated_database.copy_to(tmp_path / "shared.sqlite3")
        yield SharedDatabase(f"sqlite:///{tmp_path}/shared.sqlite3", tmp_path)
        return
    with postgres_database() as address:
        yield SharedDatabase(address, tmp_path)


@pytest.fixture
def database_with_redis(tmp_path: Path) -> Iterator[SharedDatabase]:
    """PostgreSQL and Redis, as in a deployment with several workers."""
    try:
        import redis

        redis.Redis.from_url(REDIS).ping()
    except Exception as error:
        require(False, f"Redis cannot be used at {REDIS}: {error}")
    with postgres_database() as address:
        yield SharedDatabase(address, tmp_path, REDIS)


def test_events_of_a_killed_process_are_stored(shared_database: SharedDatabase) -> None:
    with shared_database.process(f"answer({ENDLESS})") as process:
        trace_id = process.read_line()["trace_id"]
        stored_count = 0
        while stored_count < 10:
            stored_count = process.read_line()["stored"]
        process.process.send_signal(signal.SIGKILL)
        process.process.wait()
    with shared_database.process(f"print_stored_run({trace_id!r})") as observer:
        before, after, again = observer.read_line(), observer.read_line(), observer.read_line()
    # The lease had not expired, so no other process took the run.
    seqs = [event["seq"] for event in before["events"]]
    assert before["status"] == "running"
    assert seqs == list(range(1, len(seqs) + 1)) and len(seqs) >= stored_count
    assert (after["status"], after["error"]) == ("failed", "interrupted")
    assert after["events"][:-1] == before["events"]
    assert after["events"][-1] == {
        "seq": len(seqs) + MAX_UNSTORED_EVENTS,
        "type": "error",
        "payload": {"status": 503, "message": "interrupted", "code": "SERVICE_UNAVAILABLE"},
    }
    text = "".join(e["payload"]["content"] for e in before["events"] if e["type"] == "chunk")
    assert after["messages"] == [
        {"sender": "user", "status": "complete", "content": "Hello"},
        {"sender": "assistant", "status": "failed", "content": text},
    ]
    assert again == after


def test_a_run_is_followed_and_cancelled_by_another_process(
    shared_database: SharedDatabase,
) -> None:
    """The run's process notices at the latest when it renews its leases."""
    assert_other_process_cancels(shared_database, "renew_seconds=0.2")


def test_run_is_cancelled_immediately_with_redis(database_with_redis: SharedDatabase) -> None:
    """The run's process reads the database too rarely to notice the cancel there."""
    assert_other_process_cancels(database_with_redis, "renew_seconds=60.0")


def assert_other_process_cancels(shared_database: SharedDatabase, options: str) -> None:
    with shared_database.process(f"answer({ENDLESS}, {options})") as runner:
        trace_id = runner.read_line()["trace_id"]
        with shared_database.process(f"stop({trace_id!r})") as canceller:
            canceller_lines = canceller.read_until(type="done")
            assert canceller.read_line() == {"cancelled": True}
            assert canceller.read_line() == {"cancelled": "CONFLICT"}
        runner_lines = runner.read_until(type="done")
    assert runner_lines[-1]["payload"]["cancelled"] is True
    assert [line["payload"] for line in canceller_lines] == [
        line["payload"] for line in runner_lines
    ]


def test_same_message_from_two_processes_starts_one_run(shared_database: SharedDatabase) -> None:
    answer = {"text": "Hi."}
    with (
        shared_database.process(f"send({answer}, times=25)") as first,
        shared_database.process("send(None, times=25)") as second,
    ):
        assert first.read_line() == second.read_line() == {"ready": True}
        first.write_line("go")
        second.write_line("go")
        first_result, second_result = first.read_line(), second.read_line()
        assert (
            len(first_result["traces"]) == 1 and second_result["traces"] == first_result["traces"]
        )
        assert first_result["started"] + second_result["started"] == 1
        assert first.read_line() == second.read_line() == {"end": "done", "messages": 2}
