"""Skips a test whose service is missing on this machine, or fails it where CI requires the
service."""

import os
import shutil

import pytest


def require(present: bool, reason: str) -> None:
    """Skip the test unless the service is present; with REQUIRE_SERVICES=1 fail it instead."""
    if present:
        return
    if os.environ.get("REQUIRE_SERVICES") == "1":
        pytest.fail(f"REQUIRE_SERVICES=1, but {reason}")
    pytest.skip(reason)


def chromium() -> str:
    """Return the path of Chromium."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    require(path is not None, "there is no chromium; `make test-browser-deps` installs it")
    return str(path)
