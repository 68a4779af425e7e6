"""Compares whole runs of pytest with one test: without a server, with the fixture `mockllm`, and
with aimock-pytest's. Part of `make bench`.

The packages are installed, with bytecode, into `.peers/one-test`; where that or aimock from npm
cannot be had, aimock's row is left out. Rounds alternate, so that other processes slow down all.
Printed are the medians of wall and of CPU seconds, of pytest with the processes that it started,
and what a run takes more than the one without a server. The first run with the fixture has no cache
of pytest.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tools.bench.cpu import children
from tools.bench.peer_servers import AIMOCK, FOLDER
from tools.bench.servers import ROOT

ENVIRONMENT = FOLDER / "one-test"
PYTHON = ENVIRONMENT / "bin" / "python"
AIMOCK_CLI = FOLDER / "node_modules" / AIMOCK.name / "dist" / "cli.js"
AIMOCK_PYTEST = "aimock-pytest==0.7.0"
ROUNDS, MAX_SECONDS = 7, 300
GOAL_SECONDS, FIRST_GOAL_SECONDS = 1.2, 2.0
ASK = """
def ask(**options):
    return openai.OpenAI(**options).responses.create(model="gpt-4o", input="hello").output_text
"""
PLAIN = "def test_it():\n    assert openai.OpenAI(api_key='k')\n"
OURS = "def test_it(mockllm):\n    mockllm.on('hello').reply('Hi!')\n    assert ask() == 'Hi!'\n"
THEIRS = """
def test_it(aimock):
    aimock.on_message("hello", {"content": "Hi!"})
    assert ask(base_url=f"{aimock.base_url}/v1", api_key="k") == "Hi!"
"""


@dataclass
class Variant:
    """A test, the plugins that its run leaves out, and the seconds of its runs."""

    name: str
    test: str
    without: tuple[str, ...]
    keeps_cache: bool = True
    goal: float | None = None
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def main() -> None:
    variants = [
        Variant("no server", PLAIN, ("mockllm", "mockllm-torture", "aimock")),
        Variant("mockllm, first run", OURS, ("aimock",), False, FIRST_GOAL_SECONDS),
        Variant("mockllm, later runs", OURS, ("aimock",), goal=GOAL_SECONDS),
    ]
    if install():
        variants.append(Variant(AIMOCK_PYTEST, THEIRS, ("mockllm", "mockllm-torture")))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS + 1):
            for variant in variants:
                wall, cpu = run(variant, Path(folder, variant.name.replace(" ", "-")))
                # The first round fills caches of the system.
                if number:
                    variant.wall.append(wall)
                    variant.cpu.append(cpu)
    print(f"{'seconds of pytest with one test':<36}{'wall':>8}{'more':>8}{'CPU':>8}{'goal':>8}")
    plain = statistics.median(variants[0].wall)
    for variant in variants:
        wall, cpu = statistics.median(variant.wall), statistics.median(variant.cpu)
        goal = "" if variant.goal is None else f"{variant.goal:>8.1f}"
        print(f"{variant.name:<36}{wall:>8.2f}{wall - plain:>8.2f}{cpu:>8.2f}{goal}", flush=True)


def install() -> bool:
    """Install this tree and the SDK; return whether aimock could be installed too."""
    uv = (sys.executable, "-m", "uv")
    subprocess.run([*uv, "venv", "--quiet", "--clear", str(ENVIRONMENT)], check=True)
    command = [*uv, "pip", "install", "--quiet", "--python", str(PYTHON), "--compile-bytecode"]
    constraints = ("-c", str(ROOT / "constraints.txt"))
    subprocess.run([*command, *constraints, str(ROOT), "pytest", "openai"], check=True)
    try:
        subprocess.run([*command, *constraints, AIMOCK_PYTEST], check=True)
        if not AIMOCK_CLI.exists():
            AIMOCK.install()
    except (OSError, subprocess.CalledProcessError):
        return False
    return AIMOCK_CLI.exists()


def run(variant: Variant, folder: Path) -> tuple[float, float]:
    """Return the wall and CPU seconds of a run; exit if the test fails."""
    folder.mkdir(exist_ok=True)
    (folder / "test_it.py").write_text(f"import openai\n{ASK}\n{variant.test}")
    if not variant.keeps_cache:
        shutil.rmtree(folder / ".pytest_cache", ignore_errors=True)
    plugins = [word for name in variant.without for word in ("-p", f"no:{name}")]
    before, start = children(), time.monotonic()
    result = subprocess.run(
        [str(PYTHON), "-m", "pytest", "-q", "--rootdir", str(folder), *plugins],
        cwd=folder,
        env={**os.environ, "AIMOCK_CLI_PATH": str(AIMOCK_CLI)},
        capture_output=True,
        text=True,
        timeout=MAX_SECONDS,
    )
    wall, cpu = time.monotonic() - start, children() - before
    if "1 passed" not in result.stdout:
        sys.exit(f"{variant.name}: {result.stdout}{result.stderr}")
    return wall, cpu


if __name__ == "__main__":
    main()
