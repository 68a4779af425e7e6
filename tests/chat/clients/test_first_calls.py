"""The first call to a provider or an MCP server disturbs no running call."""

import json
import os
import subprocess
import sys

import pytest

from tests.chat.clients.first_calls import PROVIDERS, TOOLS

# In these orders, each provider starts while each other one is running.
ORDERS = (("openai", "anthropic", "google", TOOLS), ("google", "anthropic", "openai"))


def test_orders_cover_all_pairs() -> None:
    covered = {
        (earlier, later)
        for order in ORDERS
        for n, earlier in enumerate(order)
        for later in order[n:]
    }
    others = {(earlier, other) for earlier in PROVIDERS for other in (*PROVIDERS, TOOLS)}
    assert others <= covered


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_first_call_does_not_fail_running_calls(order: tuple[str, ...]) -> None:
    environment = {
        **os.environ,
        "MOCKLLM_ENV": "test",
        "DJANGO_SETTINGS_MODULE": "mockllm_site.settings_test",
        # A call lasts nearly a second, so that others start during it.
        "MOCKLLM_WORDS_PER_SECOND": "45",
    }
    process = subprocess.run(
        [sys.executable, "-m", "tests.chat.clients.first_calls", *order],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    outcome = json.loads(process.stdout)
    assert outcome["failed"] == []
    running = [name for name in order if name != TOOLS]
    assert outcome["beside"] == {
        name: [provider for provider in running if provider in order[:number]]
        for number, name in enumerate(order)
    }
    assert outcome["answered"].keys() == set(running)
    assert all(outcome["answered"].values())
