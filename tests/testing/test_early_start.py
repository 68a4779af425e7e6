"""The server of a run that starts while pytest collects, and the processes that a run leaves."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from scenarios_app.testing import process
from scenarios_app.testing.control import Control, ServerFailed
from scenarios_app.testing.process import ServerOptions, StandbyServer, server_process
from tests.support import fork_server

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]
SECONDS = 120
ALLOWED = "import pytest\npytestmark = pytest.mark.mockllm(allow_unserved=True)\n"
USING = f"{ALLOWED}def test_it(mockllm):\n    mockllm.on('x').reply('y')\n"
PLAIN = "def test_it():\n    pass\n"
# Writes the process id of each server, and how many run when the collection begins.
CONFTEST = """
import subprocess
from pathlib import Path

started = []
start = subprocess.Popen.__init__
def note(self, *args, **options):
    start(self, *args, **options)
    if "--standby" in self.args:
        started.append(self)
        with Path("pids").open("a") as file:
            file.write(f"{self.pid}\\n")
subprocess.Popen.__init__ = note

def pytest_collection(session):
    Path("collected").write_text(str(len(started)))
"""
Pytest: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


def environment() -> dict[str, str]:
    names = ("MOCKLLM_URL", "MOCKLLM_CONTROL_TOKEN", "PYTEST_ADDOPTS")
    return {name: value for name, value in os.environ.items() if name not in names}


def command(*options: str) -> list[str]:
    plugins = [word for name in ("django", "xdist", "timeout") for word in ("-p", f"no:{name}")]
    return [sys.executable, "-m", "pytest", "-q", "-W", "ignore", *plugins, *options]


@pytest.fixture
def run(tmp_path: Path) -> Pytest:
    """Return a function that runs pytest in `tmp_path` with these options."""
    (tmp_path / "conftest.py").write_text(CONFTEST)

    def run(*options: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command(*options),
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    return run


def pids(folder: Path) -> list[int]:
    """Return the process ids of the servers that runs in a folder started."""
    file = folder / "pids"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def wait_until_gone(pid: int) -> None:
    """Wait until a process has ended; the test's timeout bounds this."""
    while Path(f"/proc/{pid}").exists() and _state(pid) != "Z":
        time.sleep(0.05)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def test_server_starts_early_if_the_last_run_used_it(run: Pytest, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(USING)
    early = []
    for test in (USING, USING, PLAIN, PLAIN):
        (tmp_path / "test_it.py").write_text(test)
        result = run()
        assert "1 passed" in result.stdout, result.stdout + result.stderr
        early.append((tmp_path / "collected").read_text())
    # The third run stops the process after the collection, and the fourth has none.
    assert early == ["0", "1", "1", "0"]
    assert len(pids(tmp_path)) == 3
    for pid in pids(tmp_path):
        wait_until_gone(pid)


@pytest.mark.parametrize("option", ["--collect-only", "--setup-plan", "--fixtures"])
def test_run_without_tests_starts_no_server(run: Pytest, tmp_path: Path, option: str) -> None:
    (tmp_path / "test_it.py").write_text(USING)
    remember_use(tmp_path)
    assert run(option).returncode == 0
    assert pids(tmp_path) == []


def remember_use(folder: Path) -> None:
    """Write the cache of pytest as a run that used a server leaves it."""
    cache = folder / ".pytest_cache" / "v" / "mockllm"
    cache.mkdir(parents=True)
    (cache / "server").write_text("true")


@pytest.mark.parametrize(
    ("config", "fits"),
    [
        ({"scenarios": [{"name": "a", "steps": []}], "fixtures": ["turns"]}, True),
        ({"settings": {"MOCKLLM_MAX_BODY_BYTES": "5000"}}, False),
    ],
)
def test_configuration_is_that_of_the_started_server(
    run: Pytest, tmp_path: Path, config: dict[str, object], fits: bool
) -> None:
    (tmp_path / "conftest.py").write_text(
        f"{CONFTEST}\nimport pytest\n@pytest.fixture(scope='session')\n"
        f"def mockllm_config():\n    return {config!r}\n"
    )
    (tmp_path / "test_it.py").write_text(
        f"{ALLOWED}def test_it(mockllm):\n    print('NAMES', mockllm.shared_scenario_names())\n"
    )
    remember_use(tmp_path)
    result = run("-s")
    assert "1 passed" in result.stdout, result.stdout + result.stderr
    names = ["a", "investigate-outage"] if fits else []
    assert all(name in result.stdout.partition("NAMES")[2] for name in names), result.stdout
    assert len(pids(tmp_path)) == (1 if fits else 2)
    assert json.loads((tmp_path / ".pytest_cache/v/mockllm/server").read_text()) is fits


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_server_outlives_a_run_that_is_ended_in_the_collection(
    tmp_path: Path, number: int
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(
        f"import time\nfrom pathlib import Path\nPath('here').touch()\ntime.sleep(60)\n{USING}"
    )
    remember_use(tmp_path)
    with subprocess.Popen(
        command(), cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL
    ) as pytest_process:
        while not (tmp_path / "here").exists():
            assert pytest_process.poll() is None
            time.sleep(0.05)
        pytest_process.send_signal(number)
    (pid,) = pids(tmp_path)
    wait_until_gone(pid)


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandbyServer]:
    """Yield a process that waits for its options, forked from a warm one."""
    monkeypatch.setattr(process.sys, "executable", fork_server.python())
    server = StandbyServer(ServerOptions())
    yield server
    server.stop()


def test_prepared_process_serves_the_options_that_it_gets(prepared: StandbyServer) -> None:
    options = ServerOptions([{"name": "a", "steps": []}], catch_all=True)
    with server_process(options, prepared=prepared) as (base_url, pid):
        assert pid == prepared.pid
        with closing(Control(base_url)) as control:
            names = {one["name"] for one in control.send("GET", "scenarios")["scenarios"]}
    assert names == {"a", "test-mode"}


@pytest.mark.parametrize("name", ["settings", "paths"])
def test_process_that_does_not_fit_is_replaced(
    prepared: StandbyServer, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"name": "a", "steps": []}')
    value: Any = {"MOCKLLM_MAX_BODY_BYTES": "5000"} if name == "settings" else [str(file)]
    with server_process(ServerOptions(**{name: value}), prepared=prepared) as (_, pid):
        assert pid != prepared.pid and not prepared.stop.alive
    assert prepared.fits(ServerOptions())
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    assert not prepared.fits(ServerOptions())


def test_options_that_cannot_be_served_are_an_error_of_the_prepared_process(
    prepared: StandbyServer,
) -> None:
    missing = pytest.raises(ServerFailed, match="--fixture nothing: No fixture")
    with missing, server_process(ServerOptions(fixtures=["nothing"]), prepared=prepared):
        pass
