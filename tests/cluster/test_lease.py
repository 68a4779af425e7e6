"""The lease: a process without shared state serves alone, and a dead process blocks no other."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import DatabaseError, InterfaceError
from django.utils import timezone

from mockllm_site.kit.processes import machine_id, process_start_time
from mockllm_site.serve import lease as leases
from mockllm_site.serve.lease import DEAD_SECONDS, Lease, LeaseRefused
from scenarios_app.models import Installation, ServerProcess
from tests.admin.traffic import create_journal_row

pytestmark = pytest.mark.django_db


class Clock:
    """A fake clock that advances by the waited seconds and calls `meanwhile` at each wait."""

    def __init__(self) -> None:
        self.now = 0.0
        self.meanwhile = lambda: None

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.meanwhile()


def make_lease(clock: Clock | None = None, *, shares: str = "") -> Lease:
    clock = clock or Clock()
    return Lease(shares, now=lambda: clock.now, wait=clock.wait)


def create_remote_process(**columns: object) -> ServerProcess:
    """Store the row of a process on another machine."""
    values = {"owner": "other", "machine": "there", "pid": 7, "birth": 1, **columns}
    return ServerProcess.objects.create(**values)


def test_second_process_without_shared_state_is_refused() -> None:
    make_lease().acquire()
    with pytest.raises(
        LeaseRefused, match=rf"^process {os.getpid()} serves .* set REDIS_URL for all$"
    ):
        make_lease().acquire()
    assert ServerProcess.objects.count() == 1


def test_processes_with_the_same_shared_state_serve_together() -> None:
    make_lease(shares="one").acquire()
    make_lease(shares="one").acquire()
    assert ServerProcess.objects.count() == 2


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [("one", "two", "the same"), ("one", "", "shared"), ("", "one", "shared")],
)
def test_process_with_a_different_state_is_refused(first: str, second: str, why: str) -> None:
    make_lease(shares=first).acquire()
    with pytest.raises(LeaseRefused, match=why):
        make_lease(shares=second).acquire()


def test_lease_is_free_after_its_process_has_ended() -> None:
    first = make_lease()
    first.acquire()
    first.delete_row()
    make_lease().acquire()
    assert ServerProcess.objects.count() == 1


def test_dead_process_of_this_machine_is_detected_without_waiting() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    row = create_remote_process(
        machine=machine_id(), pid=process.pid, birth=process_start_time(process.pid)
    )
    with pytest.raises(LeaseRefused):
        make_lease().acquire()
    process.kill()
    # The process is dead, but its parent has not collected it.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    clock = Clock()
    make_lease(clock).acquire()
    process.communicate()
    assert clock.now <= leases.POLL_SECONDS and not ServerProcess.objects.filter(pk=row.pk)


def test_start_time_of_a_process_whose_name_is_not_utf8(tmp_path: Path) -> None:
    program = os.fsencode(tmp_path) + b"/caf\xe9"
    os.symlink(sys.executable, program)
    with subprocess.Popen([program, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert process_start_time(process.pid) >= process_start_time(os.getpid())
        process.kill()


def test_process_with_a_reused_pid_is_another_process() -> None:
    create_remote_process(
        machine=machine_id(), pid=os.getpid(), birth=process_start_time(os.getpid()) - 1
    )
    make_lease().acquire()


def test_process_of_another_machine_without_beats_is_dead() -> None:
    create_remote_process()
    clock = Clock()
    make_lease(clock).acquire()
    assert DEAD_SECONDS <= clock.now <= DEAD_SECONDS + 3 * leases.POLL_SECONDS


def test_process_of_another_machine_with_a_beat_is_alive() -> None:
    row, clock = create_remote_process(), Clock()
    clock.meanwhile = lambda: ServerProcess.objects.filter(pk=row.pk).update(beat=int(clock.now))
    with pytest.raises(LeaseRefused, match="process 7"):
        make_lease(clock).acquire()
    assert clock.now < 2.0 and ServerProcess.objects.filter(pk=row.pk).exists()


def test_wall_clock_does_not_affect_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """A jump forward makes no process dead, and a jump back keeps none alive."""
    row, clock = create_remote_process(), Clock()
    lease = make_lease(clock)
    for jump in (1e9, -1e9):
        monkeypatch.setattr("time.time", lambda jump=jump: jump)
        assert not lease.check_alive(row)
        assert ServerProcess.objects.filter(pk=row.pk).exists()
    clock.now = DEAD_SECONDS
    assert not lease.check_alive(row) and not ServerProcess.objects.filter(pk=row.pk).exists()


def test_renewal_increases_the_beat() -> None:
    lease = make_lease()
    lease.acquire()
    assert lease.renew() and lease.renew()
    assert ServerProcess.objects.get().beat == 2


def test_process_whose_lease_was_taken_over_cannot_renew() -> None:
    lease = make_lease()
    lease.acquire()
    ServerProcess.objects.all().delete()
    create_remote_process()
    assert not lease.renew()
    assert ServerProcess.objects.get().pid == 7


def test_process_whose_row_was_deleted_acquires_a_free_lease_again() -> None:
    lease = make_lease()
    lease.acquire()
    ServerProcess.objects.all().delete()
    Installation.objects.all().delete()
    assert lease.renew() and ServerProcess.objects.get().pid == os.getpid()


def test_renewal_deletes_rows_of_dead_processes() -> None:
    create_remote_process(shares="one")
    clock = Clock()
    lease = make_lease(clock, shares="one")
    lease.acquire()
    lease.renew()
    clock.now = DEAD_SECONDS
    lease.renew()
    assert ServerProcess.objects.get().pid == os.getpid()


def test_unclean_end_covers_rows_of_a_clock_that_was_ahead() -> None:
    """The clock was set back between the last row and the look at the dead process."""
    future = timezone.now() + timedelta(hours=1)
    create_journal_row(session="before", at=future)
    create_remote_process(shares="one")
    clock = Clock()
    lease = make_lease(clock, shares="one")
    lease.acquire()
    lease.renew()
    clock.now = DEAD_SECONDS
    lease.renew()
    assert Installation.objects.get().unclean_end_at == future


def test_database_error_does_not_end_the_process(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answers = iter([InterfaceError("away"), DatabaseError("away"), True, False])
    killed_pids: list[int] = []

    def renew() -> bool:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    lease = make_lease()
    lease.acquire()
    monkeypatch.setattr(lease, "renew", renew)
    monkeypatch.setattr(lease._ended, "wait", lambda _: False)
    monkeypatch.setattr(os, "kill", lambda pid, number: killed_pids.append(pid))
    lease._renew_until_end()
    assert killed_pids == [os.getpid()] and not list(answers)
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


def test_database_in_memory_needs_no_lease() -> None:
    leases.acquire()
    assert not ServerProcess.objects.exists()
