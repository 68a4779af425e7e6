"""Careful programs on SDKs and frameworks have no findings, in two sweeps with equal results."""

from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.proof.clients import FRAMEWORKS, SDKS, SweptClient, sweep_client
from tests.proof.coding_agents import CODING_AGENTS, SCRIPT
from tests.proof.dinner import read_outcomes

GOOD = {"survived", "failed_loudly"}
SECONDS = 600
CLIENTS = (*SDKS, *FRAMEWORKS, CODING_AGENTS[0])
PROGRAMS = {client.arguments[0] for client in (*SDKS, *FRAMEWORKS)} | {SCRIPT}
TESTS = {"tool.py", "__init__.py", "test_npm.py", "test_vitest.py", "test_vitest_server.py"}


@pytest.mark.long
@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.key)
def test_careful_program_has_no_findings_in_two_equal_sweeps(
    client: SweptClient, tmp_path: Path
) -> None:
    if not client.is_installed:
        pytest.skip("make test-frameworks, test-npm or test-agents installs this")
    reports = [tmp_path / "one.json", tmp_path / "two.json"]
    outputs = [sweep_client(client, "careful", report=report) for report in reports]
    first, second = map(read_outcomes, reports)
    assert set(first.values()) <= GOOD, outputs[0]
    assert first == second and outputs[0] == outputs[1]


def test_every_program_of_a_client_is_swept() -> None:
    folders = (ROOT / "tests" / "proof" / "clients", ROOT / "tests" / "npm")
    files = {path.name for folder in folders for path in folder.glob("*.*")}
    programs = {name for name in files if name.endswith(".py") or name.startswith("sweep_")}
    assert programs - TESTS == PROGRAMS
