"""Checks pages for accessibility with axe-core from npm."""

import os
import shutil
import subprocess
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

VERSION = "4.14.1"
# Required in CI; elsewhere skipped if npm is missing.
REQUIRED = "REQUIRE_SERVICES"
FOLDER = Path(__file__).resolve().parents[2] / ".axe"
RUN = """() => axe.run(document, {resultTypes: ["violations"]}).then(({violations: all}) => all.map(
  (one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`))"""


@cache
def axe() -> str:
    """Return the source of axe-core; skip the test if it cannot be installed."""
    file = FOLDER / f"axe-{VERSION}.js"
    if not file.exists():
        try:
            _fetch(file)
        except (OSError, subprocess.SubprocessError) as error:
            if os.environ.get(REQUIRED):
                raise
            pytest.skip(f"axe-core cannot be had from npm: {error}")
    return file.read_text()


def _fetch(file: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm is not installed")
    FOLDER.mkdir(exist_ok=True)
    packed = subprocess.run(
        [npm, "pack", "--silent", f"axe-core@{VERSION}"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    archive = FOLDER / packed.stdout.strip().splitlines()[-1]
    with tarfile.open(archive) as files:
        member = files.extractfile("package/axe.min.js")
        assert member is not None
        # Renamed when complete, so that no other worker reads half of it.
        half = file.with_suffix(f".{os.getpid()}")
        half.write_bytes(member.read())
    half.replace(file)
    archive.unlink()


def violations(page: Page) -> list[str]:
    """Return each violated rule with its elements.

    The content security policy blocks other scripts, so axe runs over the DevTools protocol.
    """
    session: Any = page.context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": axe()})
    broken_rules: list[str] = page.evaluate(RUN)
    return broken_rules
