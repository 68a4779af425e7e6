"""The JavaScript clients against a server: one script for each client.

`make test-npm` installs them beside the scripts; without them the tests are skipped.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios_app.testing.server import RunningServer, running_server
from tests.support.required_services import require

HERE = Path(__file__).parent
SCRIPTS = sorted(HERE.glob("*.test.mjs"))
SECONDS = 110
NODE = shutil.which("node")


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    scenarios = json.loads((HERE / "scenarios.json").read_text())["scenarios"]
    with running_server(scenarios, settings={"MOCKLLM_WORDS_PER_SECOND": "0"}) as running:
        yield running


@pytest.mark.skipif(not os.environ.get("MOCKLLM_NPM"), reason="make test-npm runs these")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name.partition(".")[0])
def test_client_gets_the_scripted_responses(server: RunningServer, script: Path) -> None:
    is_installed = NODE is not None and (HERE / "node_modules").is_dir()
    require(is_installed, "the clients from npm could not be installed beside their scripts")
    result = subprocess.run(
        [str(NODE), "--test", "--test-reporter=spec", script.name],
        cwd=HERE,
        env={**os.environ, "MOCKLLM_URL": server.base_url, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_client_has_a_script() -> None:
    packages = json.loads((HERE / "package.json").read_text())["dependencies"]
    scripts = [*SCRIPTS, *HERE.glob("vitest/*/*.mjs")]
    imported = "".join(script.read_text() for script in scripts)
    assert [name for name in packages if f'"{name}' not in imported] == []
