"""The receipt: equal for the same scripts, requests and answers, and for nothing else."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from scenarios_app.verdict.judge import receipt
from tests.verdict.clients import Client
from tests.verdict.dialects import OpenAI
from tests.verdict.scripts import script
from tests.verdict.test_tries import exchange
from tests.verdict.world import World

SCRIPTS = {"a": {"name": "a"}, "b": {"name": "b"}}


def run(seed: int = 7) -> World:
    world = World(script(Random(seed), "conv", 2))
    client = Client(world, OpenAI(), Random(seed))
    for turn in range(2):
        client.turn(f"[conv] question {turn}")
    return world


def test_the_same_run_has_the_same_receipt_at_any_time() -> None:
    first, second = run(), run()
    second.exchanges = [replace(one, id="x", at=one.at + 9) for one in second.exchanges]
    assert receipt(SCRIPTS, first.exchanges) == receipt(SCRIPTS, second.exchanges)
    assert receipt(SCRIPTS, first.exchanges).startswith("sha256:")


def test_the_order_of_scripts_and_of_parallel_answers_makes_no_difference() -> None:
    found = run().exchanges
    other = dict(reversed(SCRIPTS.items()))
    assert receipt(SCRIPTS, found) == receipt(other, list(reversed(found)))


@pytest.mark.parametrize(
    "change",
    [
        {"method": "GET"},
        {"path": "/v1/x"},
        {"query": {"a": "b"}},
        {"request_body": "{ }"},
        {"request_bytes": 9},
        {"status": 500},
        {"outcome": "fault"},
        {"response_body": "x"},
        {"response_bytes": 9},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_change_of_a_request_or_an_answer_changes_it(change: dict[str, Any]) -> None:
    one = exchange(0)
    assert receipt(SCRIPTS, [one]) != receipt(SCRIPTS, [replace(one, **change)])


def test_scripts_and_the_number_of_requests_are_in_it() -> None:
    one = exchange(0)
    found = {
        receipt(SCRIPTS, [one]),
        receipt(SCRIPTS, [one, one]),
        receipt({"a": {"name": "a"}}, [one]),
        receipt({**SCRIPTS, "b": {"name": "b", "priority": 1}}, [one]),
    }
    assert len(found) == 4


def test_of_an_answer_that_its_client_left_only_the_status_counts() -> None:
    left = exchange(0, outcome="client_gone", response_body="some", response_bytes=4)
    more = replace(left, response_body="some more", response_bytes=9)
    assert receipt(SCRIPTS, [left]) == receipt(SCRIPTS, [more])
