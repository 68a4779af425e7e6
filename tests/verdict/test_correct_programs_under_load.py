"""Correct programs of the official SDKs have no findings on a machine that is busy."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from scenarios_app.testing.control import Control
from scenarios_app.testing.server import running_server

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
BURNERS = 4
# A burner ends by itself even if the test that started it was killed.
BURN = "import time\nend = time.monotonic() + 900\nwhile time.monotonic() < end: pass"
ROUNDS = 2
CLIENTS = 5
MAX_PROGRAM_SECONDS = 300
FAULTS: list[dict[str, Any]] = [
    {"kind": "model_error"},
    {"kind": "rate_limit", "retry_after_ms": 300},
]
SDKS = ["openai", "anthropic", "google-genai"]


@pytest.fixture(scope="module")
def control() -> Iterator[Control]:
    """Return the control API of a server on a machine whose processors are busy."""
    with ExitStack() as stack:
        server = stack.enter_context(running_server())
        for _ in range(BURNERS):
            burner = subprocess.Popen([sys.executable, "-c", BURN])
            stack.callback(burner.wait)
            stack.callback(burner.terminate)
        control = Control(server.base_url)
        stack.callback(control.close)
        yield control


def run(
    control: Control, sdk: str, *, clients: int, attempts: int, times: int, fault: dict[str, Any]
) -> tuple[list[int], list[set[str]]]:
    """Run the program with ROUNDS keys, in threads and async; return successes and findings."""
    step = {
        "consume": False,
        "failures": {"times": times, "fault": fault},
        "produce": {"text": "At last."},
    }
    keys = [f"sk-{uuid4().hex}" for _ in range(ROUNDS)]
    sessions = [f"{key}{suffix}" for key in keys for suffix in ("", "-async")]
    for session in sessions:
        script = {"name": "script", "steps": [step]}
        control.send("PUT", "scenarios/script", script, session=session)
    arguments = [control.base_url, sdk, str(clients), str(attempts), *keys]
    program = subprocess.run(
        [sys.executable, "-m", "tests.verdict.correct_program", *arguments],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
        timeout=MAX_PROGRAM_SECONDS,
    )
    verdicts = [control.send("GET", "verdict", session=session) for session in sessions]
    assert all(verdict["requests"] >= clients for verdict in verdicts)
    findings = [{finding["rule"] for finding in verdict["findings"]} for verdict in verdicts]
    return list(map(int, program.stdout.split())), findings


@pytest.mark.parametrize("fault", FAULTS, ids=["500", "429"])
@pytest.mark.parametrize("clients", [1, CLIENTS])
@pytest.mark.parametrize("sdk", SDKS)
def test_calls_with_retries_have_no_findings(
    control: Control, sdk: str, clients: int, fault: dict[str, Any]
) -> None:
    if sdk == "google-genai" and "retry_after_ms" in fault:
        # Its retries do not read Retry-After, so a script that asks for a wait finds that.
        fault = {"kind": "http", "status": 429}
    successes, findings = run(
        control, sdk, clients=clients, attempts=6, times=clients + 1, fault=fault
    )
    assert successes == [clients] * 2 * ROUNDS
    assert findings == [set()] * 2 * ROUNDS


@pytest.mark.parametrize("status", [401, 500])
@pytest.mark.parametrize("sdk", SDKS)
def test_parallel_calls_of_which_one_succeeds_are_noted_at_most(
    control: Control, sdk: str, status: int
) -> None:
    successes, findings = run(
        control,
        sdk,
        clients=CLIENTS,
        attempts=1,
        times=CLIENTS - 1,
        fault={"kind": "http", "status": status},
    )
    assert successes == [1] * 2 * ROUNDS
    assert all(session_rules <= {"retries-undecided"} for session_rules in findings), findings
