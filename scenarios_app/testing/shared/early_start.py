"""Starts the server of a run while pytest collects, if the last run used it. Imported in every run,
so it imports nothing but pytest until then."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from scenarios_app.testing.process import StandbyServer

# In pytest's cache: whether the last run of tests used a server that can start early.
CACHE_KEY = "mockllm/server"
# In pytest's cache: the server's bytecode, if Python keeps none (PYTHONDONTWRITEBYTECODE).
BYTECODE_FOLDER = "mockllm-bytecode"
# Options of pytest with which no test runs.
NO_TEST_OPTIONS = ("collectonly", "showfixtures", "show_fixtures_per_test", "setupplan")
# What a server is given when its process begins.
BEGIN_OPTIONS = {"settings", "watch", "paths", "light"}
FIXTURES = ("mockllm", "mockllm_server")


class EarlyStart:
    """The process of a server that waits for the options of its start. It is stopped if no
    collected test needs it, and at the latest when pytest ends."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._cache: pytest.Cache | None = getattr(config, "cache", None)
        self._process: StandbyServer | None = None
        self._was_used = bool(self._cache and self._cache.get(CACHE_KEY, False))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Start the process if the last run used it and tests will run."""
        if self._was_used and not any(self._config.getoption(name) for name in NO_TEST_OPTIONS):
            self.process_for({})

    def process_for(self, options: Mapping[str, object]) -> "StandbyServer | None":
        """Return the process, started now unless it was before. If it cannot fit these options
        of a server, stop it and return None."""
        if BEGIN_OPTIONS & options.keys():
            self._stop_unused()
            return None
        if self._process is None:
            from scenarios_app.testing.process import ServerOptions, StandbyServer, lacks_bytecode

            folder = None
            if self._cache is not None and lacks_bytecode():
                # Some caches cannot be written.
                with suppress(OSError):
                    folder = self._cache.mkdir(BYTECODE_FOLDER)
            self._process = StandbyServer(ServerOptions(), folder)
        return self._process

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Stop the process if no test names a fixture or the marker."""
        if not any(map(_needs_server, session.items)):
            self._stop_unused()

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Store for the next run whether this one used the process."""
        is_used = self._process is not None and self._process.is_started
        have_tests_run = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if self._cache and is_used != self._was_used and (is_used or have_tests_run):
            self._cache.set(CACHE_KEY, is_used)

    def pytest_unconfigure(self) -> None:
        """Stop the process if no test used it."""
        self._stop_unused()

    def _stop_unused(self) -> None:
        if self._process is not None and not self._process.is_started:
            self._process.stop()


def _needs_server(item: pytest.Item) -> bool:
    names = getattr(item, "fixturenames", ())
    return any(name in names for name in FIXTURES) or item.get_closest_marker("mockllm") is not None
