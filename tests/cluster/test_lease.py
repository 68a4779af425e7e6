"""A process that shares its state with nobody serves alone, and a dead one keeps nobody out."""

import os
import subprocess
import sys
from datetime import timedelta

import pytest
from django.db import DatabaseError
from django.utils import timezone

from mockllm_site.kit.processes import machine_id, process_start_time
from mockllm_site.serve import lease as leases
from mockllm_site.serve.lease import DEAD_SECONDS, Lease, LeaseRefused
from scenarios_app.models import Installation, ServerProcess
from tests.admin.traffic import served

pytestmark = pytest.mark.django_db


class Clock:
    """Goes on by what is waited, and tells what happens meanwhile."""

    def __init__(self) -> None:
        self.now = 0.0
        self.meanwhile = lambda: None

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.meanwhile()


def lease(clock: Clock | None = None, *, shares: str = "") -> Lease:
    clock = clock or Clock()
    return Lease(shares, now=lambda: clock.now, wait=clock.wait)


def elsewhere(**columns: object) -> ServerProcess:
    """A process of another machine."""
    given = {"owner": "other", "machine": "there", "pid": 7, "birth": 1, **columns}
    return ServerProcess.objects.create(**given)


def test_one_serves_alone() -> None:
    lease().acquire()
    with pytest.raises(
        LeaseRefused, match=rf"^process {os.getpid()} serves .* set REDIS_URL for all$"
    ):
        lease().acquire()
    assert ServerProcess.objects.count() == 1


def test_those_with_one_state_serve_together() -> None:
    lease(shares="one").acquire()
    lease(shares="one").acquire()
    assert ServerProcess.objects.count() == 2


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [("one", "two", "the same"), ("one", "", "shared"), ("", "one", "shared")],
)
def test_those_with_different_states_do_not(first: str, second: str, why: str) -> None:
    lease(shares=first).acquire()
    with pytest.raises(LeaseRefused, match=why):
        lease(shares=second).acquire()


def test_one_that_has_ended_leaves_its_place() -> None:
    first = lease()
    first.acquire()
    first.delete_row()
    lease().acquire()
    assert ServerProcess.objects.count() == 1


def test_one_of_this_machine_that_is_dead_keeps_nobody_waiting() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    row = elsewhere(machine=machine_id(), pid=process.pid, birth=process_start_time(process.pid))
    with pytest.raises(LeaseRefused):
        lease().acquire()
    process.kill()
    # The process is dead, but its parent has not collected it.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    clock = Clock()
    lease(clock).acquire()
    process.communicate()
    assert clock.now <= leases.LOOK_SECONDS and not ServerProcess.objects.filter(pk=row.pk)


def test_another_process_under_the_same_number_is_another() -> None:
    elsewhere(machine=machine_id(), pid=os.getpid(), birth=process_start_time(os.getpid()) - 1)
    lease().acquire()


def test_one_of_another_machine_is_dead_once_it_has_stood_still() -> None:
    elsewhere()
    clock = Clock()
    lease(clock).acquire()
    assert DEAD_SECONDS <= clock.now <= DEAD_SECONDS + 3 * leases.LOOK_SECONDS


def test_one_of_another_machine_lives_as_soon_as_it_moves() -> None:
    row, clock = elsewhere(), Clock()
    clock.meanwhile = lambda: ServerProcess.objects.filter(pk=row.pk).update(beat=int(clock.now))
    with pytest.raises(LeaseRefused, match="process 7"):
        lease(clock).acquire()
    assert clock.now < 2.0 and ServerProcess.objects.filter(pk=row.pk).exists()


def test_no_wall_clock_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a jump ahead makes a process dead, nor one back keeps it alive."""
    row, clock = elsewhere(), Clock()
    looking = lease(clock)
    for jump in (1e9, -1e9):
        monkeypatch.setattr("time.time", lambda jump=jump: jump)
        assert not looking.check_alive(row)
        assert ServerProcess.objects.filter(pk=row.pk).exists()
    clock.now = DEAD_SECONDS
    assert not looking.check_alive(row) and not ServerProcess.objects.filter(pk=row.pk).exists()


def test_one_that_renews_lives_on() -> None:
    mine = lease()
    mine.acquire()
    assert mine.renew() and mine.renew()
    assert ServerProcess.objects.get().beat == 2


def test_one_that_was_taken_for_dead_gives_way_to_the_one_that_serves() -> None:
    mine = lease()
    mine.acquire()
    ServerProcess.objects.all().delete()
    elsewhere()
    assert not mine.renew()
    assert ServerProcess.objects.get().pid == 7


def test_one_whose_row_is_gone_enters_again_where_nobody_serves() -> None:
    mine = lease()
    mine.acquire()
    ServerProcess.objects.all().delete()
    Installation.objects.all().delete()
    assert mine.renew() and ServerProcess.objects.get().pid == os.getpid()


def test_rows_of_the_dead_are_removed_by_those_who_live() -> None:
    elsewhere(shares="one")
    clock = Clock()
    mine = lease(clock, shares="one")
    mine.acquire()
    mine.renew()
    clock.now = DEAD_SECONDS
    mine.renew()
    assert ServerProcess.objects.get().pid == os.getpid()


def test_unclean_end_covers_rows_of_a_clock_that_was_ahead() -> None:
    """The clock was set back between the last row and the look at the dead process."""
    ahead = timezone.now() + timedelta(hours=1)
    served(session="before", at=ahead)
    elsewhere(shares="one")
    clock = Clock()
    mine = lease(clock, shares="one")
    mine.acquire()
    mine.renew()
    clock.now = DEAD_SECONDS
    mine.renew()
    assert Installation.objects.get().unclean_end_at == ahead


def test_a_database_that_fails_ends_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answers = iter([DatabaseError("away"), DatabaseError("away"), True, False])
    ended: list[int] = []

    def renew() -> bool:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    mine = lease()
    mine.acquire()
    monkeypatch.setattr(mine, "renew", renew)
    monkeypatch.setattr(mine._ended, "wait", lambda _: False)
    monkeypatch.setattr(os, "kill", lambda pid, number: ended.append(pid))
    mine._renew_until_end()
    assert ended == [os.getpid()] and not list(answers)
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


def test_a_database_of_this_process_alone_needs_none() -> None:
    leases.acquire()
    assert not ServerProcess.objects.exists()
