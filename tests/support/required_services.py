"""What a test may need from the machine: a skip with its reason, or a failure where CI insists."""

import os
import shutil

import pytest


def require(present: bool, reason: str) -> None:
    """Go on where the thing is present; REQUIRE_SERVICES=1 makes its absence a failure."""
    if present:
        return
    if os.environ.get("REQUIRE_SERVICES") == "1":
        pytest.fail(f"REQUIRE_SERVICES=1, but {reason}")
    pytest.skip(reason)


def chromium() -> str:
    """The path of the machine's Chromium."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    require(path is not None, "there is no chromium; `make test-browser-deps` installs it")
    return str(path)
