"""A time limit for code of the same process."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Hung(BaseException):
    """A test did not end in time. It is no Exception, so `except Exception` does not catch it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise Hung after the seconds, only in the main thread and on systems with alarms."""
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def raise_hung(*_: Any) -> None:
        raise Hung

    handler = signal.signal(signal.SIGALRM, raise_hung)
    began = time.monotonic()
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        # Continues another plugin's timer.
        passed = time.monotonic() - began
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, max(left - passed, 0.001) if left else 0)
