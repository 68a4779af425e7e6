"""Under real servers: clients that leave are noticed, and the application starts by itself."""

import json
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.serving.cases import Case, endless_cases
from tests.serving.processes.servers import ask, serving

PATIENCE = 60.0


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


def test_a_client_that_leaves_is_noticed(port: int) -> None:
    for case in endless_cases():
        leave(port, case)


def leave(port: int, case: Case) -> None:
    before = told(port)
    connection = begin(port, case)
    assert until(lambda: bool(told(port)["asked"] > before["asked"]))
    connection.close()
    model = json.loads(case.body)["model"]
    assert until(lambda: told(port)["outcomes"].get(model) == "client_gone")
    assert until(lambda: bool(told(port)["tasks"] <= before["tasks"]))
    assert told(port)["streams"] == 0


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("server", ["uvicorn", "daphne"])
def test_any_server_can_run_the_application(server: str) -> None:
    """Without `serve` nobody else makes the tables of a database in memory."""
    with serving(server, "mockllm_site.asgi:application", MOCKLLM_ENV="test") as port:
        models = Case("m", "/v1/models", method="GET", headers={"authorization": "Bearer k"})
        assert ask(port, models).status == 200
        health = ask(port, Case("h", "/healthz", method="GET"))
        assert (health.status, json.loads(health.body)["status"]) == (200, "ok")
        assert ask(port, Case("s", "/control/state?session=s", method="GET")).status == 200
        assert b"mockllm" in ask(port, Case("i", "/", method="GET")).body
        nothing = ask(port, Case("n", "/v1/nothing", method="GET", headers={"host": "bad"}))
        assert nothing.status == 404 and b"invalid_request_error" in nothing.body
        bedrock = ask(port, Case("b", "/model/m/converse", body=b"{}"))
        assert bedrock.status == 404 and b"Unknown request URL: POST /model/m" in bedrock.body
        page = Case("p", "/model/m/converse", method="GET", headers={"accept": "text/html"})
        assert b"<html" in ask(port, page).body
        verdict = json.loads(ask(port, Case("v", "/control/verdict", method="GET")).body)
        assert [one["path"] for one in verdict["unmatched"]] == ["/v1/nothing", "/model/m/converse"]
