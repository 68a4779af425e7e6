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


class Place:
    """A database that processes share, and perhaps a Redis."""

    def __init__(self, database: str, folder: Path, redis: str = "") -> None:
        self._database = database
        self._folder = folder
        self._redis = redis

    def process(self, call: str) -> AbstractContextManager[Process]:
        script = f"{IMPORT}other.{call}"
        return start_process(self._database, script, folder=self._folder, REDIS_URL=self._redis)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A database alone."""
    if request.param == "sqlite":
        migrated_database.copy_to(tmp_path / "shared.sqlite3")
        yield Place(f"sqlite:///{tmp_path}/shared.sqlite3", tmp_path)
        return
    with postgres_database() as address:
        yield Place(address, tmp_path)


@pytest.fixture
def whole_place(tmp_path: Path) -> Iterator[Place]:
    """PostgreSQL and Redis, as several workers have them."""
    try:
        import redis

        redis.Redis.from_url(REDIS).ping()
    except Exception as error:
        require(False, f"Redis cannot be used at {REDIS}: {error}")
    with postgres_database() as address:
        yield Place(address, tmp_path, REDIS)


def test_of_a_killed_process_everything_but_the_last_moment_is_there(place: Place) -> None:
    with place.process(f"answer({ENDLESS})") as answering:
        trace_id = answering.read_line()["trace_id"]
        stored = 0
        while stored < 10:
            stored = answering.read_line()["stored"]
        answering.process.send_signal(signal.SIGKILL)
        answering.process.wait()
    with place.process(f"look({trace_id!r})") as looking:
        before, after, again = looking.read_line(), looking.read_line(), looking.read_line()
    # The lease had not expired, so no other process took the run.
    seqs = [event["seq"] for event in before["events"]]
    assert before["status"] == "running"
    assert seqs == list(range(1, len(seqs) + 1)) and len(seqs) >= stored
    assert (after["status"], after["error"]) == ("failed", "interrupted")
    assert after["events"][:-1] == before["events"]
    assert after["events"][-1] == {
        "seq": len(seqs) + MAX_UNSTORED_EVENTS,
        "type": "error",
        "payload": {"status": 503, "message": "interrupted", "code": "SERVICE_UNAVAILABLE"},
    }
    said = "".join(e["payload"]["content"] for e in before["events"] if e["type"] == "chunk")
    assert after["messages"] == [
        {"sender": "user", "status": "complete", "content": "Hello"},
        {"sender": "assistant", "status": "failed", "content": said},
    ]
    assert again == after


def test_a_run_is_followed_and_cancelled_by_another_process(place: Place) -> None:
    """Its own process learns it when it renews its leases, at the latest."""
    cancelled_from_elsewhere(place, "renew_seconds=0.2")


def test_a_run_is_cancelled_at_once_where_processes_can_talk(whole_place: Place) -> None:
    """Its own process reads the database too seldom to learn it there."""
    cancelled_from_elsewhere(whole_place, "renew_seconds=60.0")


def cancelled_from_elsewhere(place: Place, how: str) -> None:
    with place.process(f"answer({ENDLESS}, {how})") as answering:
        trace_id = answering.read_line()["trace_id"]
        with place.process(f"stop({trace_id!r})") as stopping:
            there = stopping.read_until(type="done")
            assert stopping.read_line() == {"cancelled": True}
            assert stopping.read_line() == {"cancelled": "CONFLICT"}
        here = answering.read_until(type="done")
    assert here[-1]["payload"]["cancelled"] is True
    assert [line["payload"] for line in there] == [line["payload"] for line in here]


def test_the_same_message_sent_by_two_processes_is_one(place: Place) -> None:
    answer = {"text": "Hi."}
    with (
        place.process(f"send({answer}, times=25)") as one,
        place.process("send(None, times=25)") as other,
    ):
        assert one.read_line() == other.read_line() == {"ready": True}
        one.write_line("go")
        other.write_line("go")
        here, there = one.read_line(), other.read_line()
        assert len(here["traces"]) == 1 and there["traces"] == here["traces"]
        assert here["begun"] + there["begun"] == 1
        assert one.read_line() == other.read_line() == {"end": "done", "messages": 2}
