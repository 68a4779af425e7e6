"""Locks of the journal, which garbage collection may enter while its thread holds them."""

import threading

from scenarios_app.journal import Journal
from scenarios_app.journal.dropped import DroppedRows


def test_locks_of_the_journal_let_their_own_thread_in_again() -> None:
    for owner in (Journal(), DroppedRows()):
        held = threading.Thread(target=_enter_twice, args=(owner._lock,), daemon=True)
        held.start()
        held.join(5)
        assert not held.is_alive()


def _enter_twice(lock: "threading.RLock") -> None:  # type: ignore[valid-type]
    with lock, lock:
        pass
