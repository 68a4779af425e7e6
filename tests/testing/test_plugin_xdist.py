"""The plugin with pytest-xdist: one server for all workers, and a session for each test."""

import os
import select
import sys
from contextlib import suppress

import pytest

from tests.support import fork_server
from tests.testing.test_plugin_config import WATCHED

# Long, for busy machines.
pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

WORKERS, TESTS = 2, 24
GONE_SECONDS = 30
MANY = f"""
import os

import httpx2
import pytest


@pytest.mark.parametrize("number", range({TESTS}))
def test_it(mockllm, number, worker_id):
    mockllm.on("number", once=True).reply(f"This is {{number}}.")
    answer = httpx2.post(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        headers={{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}},
        json={{"model": "m", "messages": [{{"role": "user", "content": "Which number?"}}]}},
    )
    assert answer.json()["choices"][0]["message"]["content"] == f"This is {{number}}."
    assert len(mockllm.requests) == 1
    with open(os.environ["REQUESTS_FILE"], "a") as file:
        file.write(f"{{worker_id}} {{mockllm.base_url}}\\n")
"""


@pytest.fixture
def spread(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a pytester whose tests run in new processes with xdist."""
    for name in ("MOCKLLM_URL", "MOCKLLM_CONTROL_TOKEN", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REQUESTS_FILE", str(pytester.path / "requests.txt"))
    # Workers load no other plugins of this environment.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "scenarios_app.testing.plugin,xdist.plugin")
    return pytester


@pytest.fixture
def warm_spread(spread: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return `spread` with processes that are forked from a warm one."""
    monkeypatch.setattr(sys, "executable", fork_server.python())
    return spread


def test_workers_share_one_server_with_separate_sessions(warm_spread: pytest.Pytester) -> None:
    warm_spread.makepyfile(test_many=MANY)
    options = ("-p", "no:cacheprovider", "-n", str(WORKERS), "--dist", "load")
    reports = ("--mockllm-report", "report.json", "--mockllm-coverage", "coverage.xml")
    result = warm_spread.runpytest_subprocess(*options, *reports)
    result.assert_outcomes(passed=TESTS)
    requests = [
        line.split() for line in (warm_spread.path / "requests.txt").read_text().splitlines()
    ]
    assert len({worker for worker, _ in requests}) == WORKERS
    assert len({url for _, url in requests}) == 1
    assert (warm_spread.path / "report.json").read_text().count('"passed": true') == TESTS + 1
    assert '<testsuite name="mockllm coverage"' in (warm_spread.path / "coverage.xml").read_text()


def test_coverage_that_cannot_be_written_is_one_line(warm_spread: pytest.Pytester) -> None:
    warm_spread.makepyfile("def test_it(mockllm): pass")
    result = warm_spread.runpytest_subprocess("-n", "1", "--mockllm-coverage=/proc/none/c.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.assert_outcomes(passed=1)
    message = "ERROR: mockllm: /proc/none/c.json: cannot be written: No such file or directory"
    assert result.stderr.str().strip() == message


def test_server_of_all_workers_watches_files(warm_spread: pytest.Pytester) -> None:
    warm_spread.makepyfile(test_watched=WATCHED)
    result = warm_spread.runpytest_subprocess("-n", "1", "--mockllm-watch")
    result.assert_outcomes(passed=1)


BROKEN = """
import pytest


@pytest.fixture(scope="session")
def mockllm_config():
    return {"fixtures": ["none"]}


@pytest.mark.parametrize("number", range(2))
def test_it(mockllm, number):
    pass
"""


def test_failed_start_is_reported_in_every_worker(warm_spread: pytest.Pytester) -> None:
    warm_spread.makepyfile(test_broken=BROKEN)
    result = warm_spread.runpytest_subprocess("-n", "2", "--dist", "each")
    result.assert_outcomes(errors=4)
    shared = warm_spread.runpytest_subprocess("-n", "2")
    shared.assert_outcomes(errors=2)
    assert str(shared.stdout).count("mockllm: --fixture none: No fixture named 'none' found") >= 2


KILLED = """
import os
import signal
from pathlib import Path


def test_it(mockllm):
    (served,) = [
        int(file.parent.name)
        for file in Path("/proc").glob("[0-9]*/cmdline")
        if f"--parent\\0{os.getpid()}\\0" in file.read_text(errors="replace")
    ]
    Path(os.environ["REQUESTS_FILE"]).write_text(str(served))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_server_ends_with_a_killed_run(spread: pytest.Pytester) -> None:
    spread.makepyfile(test_killed=KILLED)
    result = spread.runpytest_subprocess()
    assert result.ret == -9
    served = int((spread.path / "requests.txt").read_text())
    with suppress(ProcessLookupError):
        end = os.pidfd_open(served)
        assert select.select([end], [], [], GONE_SECONDS)[0]
        os.close(end)
