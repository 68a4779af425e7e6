"""The first call of a process to a provider, or of an MCP server, breaks none that is running."""

import json
import os
import subprocess
import sys

import pytest

from tests.chat.clients.first_calls import PROVIDERS, TOOLS

# In these orders, each provider starts while each other one is running.
ORDERS = (("openai", "anthropic", "google", TOOLS), ("google", "anthropic", "openai"))


def test_each_comes_beside_each_other_one() -> None:
    met = {(one, later) for order in ORDERS for n, one in enumerate(order) for later in order[n:]}
    others = {(one, other) for one in PROVIDERS for other in (*PROVIDERS, TOOLS)}
    assert others <= met


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_a_first_call_breaks_none_of_those_that_are_running(order: tuple[str, ...]) -> None:
    environment = {
        **os.environ,
        "MOCKLLM_ENV": "test",
        "DJANGO_SETTINGS_MODULE": "mockllm_site.settings_test",
        # A call lasts nearly a second, so that others start during it.
        "MOCKLLM_WORDS_PER_SECOND": "45",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.chat.clients.first_calls", *order],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    receive = json.loads(done.stdout)
    assert receive["failed"] == []
    running = [name for name in order if name != TOOLS]
    assert receive["beside"] == {
        name: [one for one in running if one in order[:number]] for number, name in enumerate(order)
    }
    assert receive["answered"].keys() == set(running)
    assert all(receive["answered"].values())
