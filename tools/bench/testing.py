"""Compares four tools by the same three tests of one program: lines, time, noticed faults.

`make bench-testing` installs the tools, in the versions below, into the environment
`.peers/testing`. The tests are in `tools/bench/three`. The cassettes of pytest-recording were
recorded with this project's server; its address was replaced by the provider's. The least time of
several rounds counts, because other processes can only add to it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tools.bench.cpu import children
from tools.bench.servers import ROOT

TOOLS = {
    "mockllm": ("mockllm-server",),
    "respx": ("respx==0.23.1",),
    "recording": ("pytest-recording==0.14.1", "vcrpy==9.4.2"),
    "httpserver": ("pytest-httpserver==1.2.0",),
}
TESTS = Path(__file__).with_name("three")
ENVIRONMENT = ROOT / ".peers" / "testing"
PYTHON = ENVIRONMENT / "bin" / "python"
FAULTS = ("a result under a wrong id", "no wait before the retry", "one request too many")
ROUNDS, MAX_SECONDS = 3, 300
_NON_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Run:
    """A run of one tool's tests: seconds in total, of CPU, and of a test after the first."""

    passed: bool
    wall: float
    cpu: float
    later: float


def main() -> None:
    install()
    head = ("tool", "lines", "recorded lines", "run, s", "of CPU, s", "a later test, s")
    print(" | ".join((*head, *(f"notices {fault}" for fault in FAULTS))))
    with tempfile.TemporaryDirectory() as folder:
        # Outside this project's conftest and configuration.
        shutil.copytree(TESTS, folder, dirs_exist_ok=True)
        Path(folder, "pytest.ini").write_text("[pytest]\n")
        for tool, packages in TOOLS.items():
            runs = [run(tool, Path(folder)) for _ in range(ROUNDS)]
            if not all(run.passed for run in runs):
                sys.exit(f"the tests with {tool} do not pass")
            noticed = [not run(tool, Path(folder), fault=fault).passed for fault in FAULTS]
            figures = (
                f"{min(run.wall for run in runs):.1f}",
                f"{min(run.cpu for run in runs):.1f}",
                f"{min(run.later for run in runs):.3f}",
            )
            lines = (str(code_lines(TESTS / f"with_{tool}.py")), str(recorded_lines(tool)))
            marks = ("yes" if is_noticed else "no" for is_noticed in noticed)
            print(" | ".join((", ".join(packages), *lines, *figures, *marks)), flush=True)


def install() -> None:
    """Install this tree and the tools into their environment."""
    if not PYTHON.exists():
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(ENVIRONMENT)], check=True
        )
    packages = [package for tool in TOOLS.values() for package in tool if "==" in package]
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(PYTHON)]
    command += ["-c", str(ROOT / "constraints.txt"), "--reinstall-package", "mockllm-server"]
    subprocess.run([*command, str(ROOT), "openai", "anthropic", "pytest", *packages], check=True)


def run(tool: str, folder: Path, *, fault: str = "") -> Run:
    """Run one tool's tests in a new process without the other tools' plugins."""
    report = folder / "report.xml"
    others = [f"no:{name}" for name in ("mockllm", "recording", "respx") if name != tool]
    command = [str(PYTHON), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    command += [word for name in others for word in ("-p", name)]
    before, start = children(), time.monotonic()
    result = subprocess.run(
        [*command, f"with_{tool}.py"],
        cwd=folder,
        env={**os.environ, "FAULT": fault},
        capture_output=True,
        text=True,
        timeout=MAX_SECONDS,
    )
    wall, cpu = time.monotonic() - start, children() - before
    if not report.exists():
        sys.exit(result.stdout + result.stderr)
    times = [float(case.get("time", 0)) for case in ElementTree.parse(report).iter("testcase")]
    report.unlink()
    return Run(result.returncode == 0, wall, cpu, sum(times[1:]) / (len(times) - 1))


def code_lines(path: Path) -> int:
    """Return the number of lines with code, without comments, blank lines and the docstring."""
    return len(set(_lines_with_code(path)))


def _lines_with_code(path: Path) -> Iterator[int]:
    with path.open("rb") as file:
        tokens = [
            token for token in tokenize.tokenize(file.readline) if token.type not in _NON_CODE
        ]
    for token in tokens[1:] if tokens[0].type == tokenize.STRING else tokens:
        yield from range(token.start[0], token.end[0] + 1)


def recorded_lines(tool: str) -> int:
    """Return the number of lines in the cassettes of a tool's tests."""
    files = (TESTS / "cassettes" / f"with_{tool}").glob("*.yaml")
    return sum(len(file.read_text().splitlines()) for file in files)


if __name__ == "__main__":
    main()
