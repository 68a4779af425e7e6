"""The receipt of a run: equal for equal scenarios, requests and responses only."""

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.verdict.judge import receipt
from tests.verdict.clients import Client
from tests.verdict.dialects import OpenAI
from tests.verdict.random_scenarios import script
from tests.verdict.simulated_server import SimulatedServer
from tests.verdict.test_retries import exchange

SCRIPTS = {"a": {"name": "a"}, "b": {"name": "b"}}


def run(seed: int = 7) -> SimulatedServer:
    server = SimulatedServer(script(Random(seed), "conv", 2))
    client = Client(server, OpenAI(), Random(seed))
    for turn in range(2):
        client.run_turn(f"[conv] question {turn}")
    return server


def test_same_run_has_the_same_receipt_at_another_time() -> None:
    first, second = run(), run()
    second.exchanges = [
        replace(exchange, uid="x", at=exchange.at + 9) for exchange in second.exchanges
    ]
    assert receipt(SCRIPTS, first.exchanges) == receipt(SCRIPTS, second.exchanges)
    assert receipt(SCRIPTS, first.exchanges).startswith("sha256:")


def test_receipt_does_not_depend_on_the_order_of_scenarios_and_exchanges() -> None:
    exchanges = run().exchanges
    other = dict(reversed(SCRIPTS.items()))
    assert receipt(SCRIPTS, exchanges) == receipt(other, list(reversed(exchanges)))


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
def test_changed_request_or_response_changes_the_receipt(change: dict[str, Any]) -> None:
    original = exchange(0)
    assert receipt(SCRIPTS, [original]) != receipt(SCRIPTS, [replace(original, **change)])


def test_scenarios_and_number_of_requests_change_the_receipt() -> None:
    request = exchange(0)
    receipts = {
        receipt(SCRIPTS, [request]),
        receipt(SCRIPTS, [request, request]),
        receipt({"a": {"name": "a"}}, [request]),
        receipt({**SCRIPTS, "b": {"name": "b", "priority": 1}}, [request]),
    }
    assert len(receipts) == 4


def test_receipt_ignores_the_body_that_a_leaving_client_received() -> None:
    left = exchange(0, outcome="client_gone", response_body="some", response_bytes=4)
    more = replace(left, response_body="some more", response_bytes=9)
    assert receipt(SCRIPTS, [left]) == receipt(SCRIPTS, [more])
