"""Clients that leave, under real servers: noticed, journalled, and nothing left of them."""

import json
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.serving.cases import Case, endless_cases
from tests.serving.servers import ask

PATIENCE = 10.0


def told(port: int) -> dict[str, Any]:
    seen: dict[str, Any] = json.loads(ask(port, Case("journal", "/-/journal", method="GET")).body)
    return seen


def until(reached: Callable[[], bool]) -> bool:
    """Whether it comes to this before patience ends."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if reached():
            return True
        time.sleep(0.02)
    return False


def begin(port: int, case: Case) -> socket.socket:
    """Send a whole request, and do not wait for its answer."""
    lines = [f"{case.method} {case.path} HTTP/1.1", "host: localhost"]
    lines += [f"{name}: {value}" for name, value in case.headers.items()]
    lines += [f"content-length: {len(case.body)}", "", ""]
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    connection.sendall("\r\n".join(lines).encode() + case.body)
    return connection


@pytest.mark.parametrize("case", endless_cases(), ids=str)
def test_a_client_that_leaves_is_noticed(case: Case, port: int) -> None:
    before = told(port)
    connection = begin(port, case)
    assert until(lambda: bool(told(port)["asked"] > before["asked"]))
    connection.close()
    model = json.loads(case.body)["model"]
    assert until(lambda: told(port)["outcomes"].get(model) == "client_gone")
    assert until(lambda: bool(told(port)["tasks"] <= before["tasks"]))
    assert told(port)["streams"] == 0
