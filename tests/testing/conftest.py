"""Runs pytest with the installed plugin inside a test."""

import sys
from collections.abc import Callable
from typing import TypeAlias

# pytester forgets imported modules; these SDKs take long to import and must exist only once.
import anthropic  # noqa: F401
import google.genai  # noqa: F401
import httpcore2  # noqa: F401
import openai  # noqa: F401
import pytest

from tests.support import fork_server

Run: TypeAlias = Callable[..., pytest.RunResult]
# Plugins that a user's project may not have.
DISABLED_PLUGINS = (
    "-p",
    "no:django",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-p",
    "no:timeout",
)


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs test files, given as texts by name, with options of pytest.
    Servers are forked from a warm process unless `warm=False`."""
    python = sys.executable
    for name in ("MOCKLLM_URL", "MOCKLLM_CONTROL_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def run(*options: str, warm: bool = True, **files: str) -> pytest.RunResult:
        pytester.makepyfile(**files)
        monkeypatch.setattr(sys, "executable", fork_server.python() if warm else python)
        return pytester.runpytest_inprocess(*DISABLED_PLUGINS, *options)

    return run
