"""How many streams a process has open, against the most that it may have."""

from threading import Lock


class Streams:
    """Counts across every event loop of the process."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.open = 0
        self._lock = Lock()

    def take(self) -> bool:
        """Open one more; false where there is no room."""
        with self._lock:
            if self.open >= self.most:
                return False
            self.open += 1
            return True

    def free(self) -> None:
        with self._lock:
            self.open -= 1
