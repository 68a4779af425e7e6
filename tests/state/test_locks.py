"""Locks of the journal, which garbage collection can acquire again in the same thread."""

import threading

from scenarios_app.journal import Journal
from scenarios_app.journal.dropped import DroppedRows


def test_locks_of_the_journal_are_reentrant() -> None:
    for owner in (Journal(), DroppedRows()):
        thread = threading.Thread(target=_enter_twice, args=(owner._lock,), daemon=True)
        thread.start()
        thread.join(5)
        assert not thread.is_alive()


def _enter_twice(lock: "threading.RLock") -> None:
    with lock, lock:
        pass
