"""The first call of a process to a provider, or of an MCP server, breaks none that is running."""

import json
import os
import subprocess
import sys

import pytest

from tests.chat.clients.first_calls import PROVIDERS


@pytest.mark.parametrize("newcomer", [*PROVIDERS, "tools"])
def test_a_first_call_breaks_none_of_those_that_are_running(newcomer: str) -> None:
    environment = {
        **os.environ,
        "MOCKLLM_ENV": "test",
        "DJANGO_SETTINGS_MODULE": "mockllm_site.settings_test",
        # A call lasts most of a second, so that some begin at every moment.
        "MOCKLLM_WORDS_PER_SECOND": "45",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.chat.clients.first_calls", newcomer],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["failed"] == []
    others = {name for name in PROVIDERS if name != newcomer}
    assert told["answered"].keys() == others
    assert all(told["answered"].values())
