"""`pytest --mockllm-torture`: repeats each test that uses the fixture `mockllm` with one fault at
one answer at a time.

pytest imports this in every run, so it imports little until the option is given.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from scenarios_app.torture.tests import TestSweeps

OPTION = "--mockllm-torture"
_sweeps: pytest.StashKey[TestSweeps] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mockllm")
    group.addoption(
        OPTION,
        action="store_true",
        help="repeat each test with one fault at one answer at a time, and print how it took each",
    )
    words = {
        "kinds": ("A,B", "only these kinds of trouble"),
        "only": ("CELL", "only this cell of each test: KIND@ANSWER"),
        "budget": ("N", "a number of runs of each test, or a time for all: 90s, 10m, 2h"),
        "seed": ("N", "of the order of runs (default: 0)"),
        "fail-on": ("A,B", "outcomes that fail the run (default: silent,wrong,hung,multiplied)"),
        "report": ("FILE", "write the matrix to a file too: .json, .xml (JUnit) or .html"),
    }
    for name, (metavar, meaning) in words.items():
        group.addoption(f"{OPTION}-{name}", metavar=metavar, default=None, help=meaning)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption(OPTION):
        from scenarios_app.torture.tests import TestSweeps

        sweeps = config.stash[_sweeps] = TestSweeps(config)
        config.pluginmanager.register(sweeps, "mockllm-torture-sweeps")


class Hung(BaseException):
    """A test did not end in time. Code that catches every Exception does not catch it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise Hung in the main thread when the seconds are over, on systems with alarms."""
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def end(*_: Any) -> None:
        raise Hung

    handler = signal.signal(signal.SIGALRM, end)
    began = time.monotonic()
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        # Another plugin's limit goes on where it was.
        passed = time.monotonic() - began
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, max(left - passed, 0.001) if left else 0)
