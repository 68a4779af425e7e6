"""Runs of well-behaved clients have no findings; a thousand seeds in `make test-long`."""

from random import Random
from typing import Any

import pytest

from tests.verdict.clients import Client
from tests.verdict.dialects import DIALECTS
from tests.verdict.random_scenarios import failing, script, step
from tests.verdict.simulated_server import SimulatedServer

SEEDS, SUITE_SEEDS, SEEDS_PER_TEST = 1_000, 100, 25


@pytest.mark.parametrize("first", range(0, SUITE_SEEDS, SEEDS_PER_TEST))
def test_well_behaved_clients_have_no_findings(first: int) -> None:
    assert_no_findings(first)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, SEEDS, SEEDS_PER_TEST))
def test_well_behaved_clients_have_no_findings_in_a_thousand_runs(first: int) -> None:
    assert_no_findings(first)


def assert_no_findings(first: int) -> None:
    for seed in range(first, first + SEEDS_PER_TEST):
        server = clean_run(Random(seed))
        verdict = server.verdict(strict=True)
        assert verdict.passed, (seed, verdict)
        assert verdict.requests >= 2


def clean_run(random: Random) -> SimulatedServer:
    """Run conversations one after another, sometimes with several clients that send the same."""
    names = [f"conv-{number}" for number in range(random.randint(1, 3))]
    turns = {name: random.randint(1, 3) for name in names}
    same = {"name": "same", "steps": [step("same", consume=False, produce={"text": "The same."})]}
    loops = random.random() < 0.3
    server = SimulatedServer(
        same,
        *([busy_scenario(random)] if loops else []),
        *(script(random, name, turns[name]) for name in names),
    )
    for name in names:
        client = Client(
            server,
            random.choice(DIALECTS)(system=f"You are {name}."),
            random,
            numbers_attempts=random.random() < 0.5,
        )
        for turn in range(turns[name]):
            # Streamed tool calls are covered by the tests of each wire.
            client.run_turn(f"[{name}] question {turn}")
    if loops:
        loop_with_pauses(random, server)
    for _ in range(random.randint(1, 3)):
        stream = random.random() < 0.5
        Client(server, random.choice(DIALECTS)(), random).run_turn("[same] question", stream=stream)
    return server


def busy_scenario(random: Random) -> dict[str, Any]:
    fault = {"kind": "http", "status": random.choice((500, 503))}
    again = failing(random, random.randint(2, 6), **fault)
    return {
        "name": "busy",
        "steps": [step("busy", consume=False, produce={"text": "Now."}, **again)],
    }


def loop_with_pauses(random: Random, server: SimulatedServer) -> None:
    """Loop with pauses around SDK calls of one or more attempts, by one client or by two."""
    conversation = random.choice(DIALECTS)()
    conversation.add_user_message("[busy] question")
    client = Client(
        server, conversation, random, numbers_attempts=True, max_attempts=random.randint(1, 3)
    )
    two_clients = random.random() < 0.3
    while client.send().status != 200:
        if two_clients:
            client.send()
        server.wait(random.uniform(0.3, 2.0))
