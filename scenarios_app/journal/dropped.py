"""Counts the rows that the journal lost, by session, so that readers see that the journal is
incomplete."""

from threading import RLock

from mockllm_site.kit.bounded_dict import BoundedDict

# Sessions beyond this number, the least recent first, are only counted in a sum.
MAX_SESSIONS = 10_000


class DroppedRows:
    """Counts of lost rows in one process, by session, since its start or the session's reset."""

    def __init__(self, *, max_sessions: int = MAX_SESSIONS) -> None:
        self._by_session = BoundedDict[str, int](max_sessions)
        self._total = 0
        self._lock = RLock()

    def add(self, session: str, rows: int = 1) -> None:
        with self._lock:
            self._by_session[session] = self._by_session.get(session, 0) + rows
            self._total += rows

    def of(self, session: str | None) -> int:
        """Return the number of lost rows of a session, or of all for None. A session that has no
        count may have lost any row of evicted sessions, so it gets the number of those."""
        with self._lock:
            if session is None:
                return self._total
            if session in self._by_session:
                return self._by_session[session]
            return self._total - sum(self._by_session.values())

    def warning(self, session: str | None) -> str:
        """Return the warning that pages show, or an empty string if nothing was lost."""
        lost = self.of(session)
        if not lost:
            return ""
        what = "1 request is" if lost == 1 else f"{lost:,} requests are"
        return f"{what} missing here: the journal had no room for them, or could not write them."

    def forget(self, session: str | None) -> None:
        """Reset the count of a session, or of all."""
        with self._lock:
            if session is None:
                self._by_session.clear()
                self._total = 0
            else:
                self._total -= self._by_session.pop(session, 0)
