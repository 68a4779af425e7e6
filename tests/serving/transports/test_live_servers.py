"""Under real servers, clients that leave end their answers, and the application starts without
`serve`."""

import json
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.serving.cases import Case, endless_cases
from tests.serving.processes.servers import run_asgi_server, send_case

WAIT_SECONDS = 60.0


def read_status(port: int) -> dict[str, Any]:
    status: dict[str, Any] = json.loads(
        send_case(port, Case("journal", "/-/journal", method="GET")).body
    )
    return status


def wait_until(reached: Callable[[], bool]) -> bool:
    """Return whether the condition became true within WAIT_SECONDS."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        if reached():
            return True
        time.sleep(0.02)
    return False


def open_request(port: int, case: Case) -> socket.socket:
    """Send a whole request and return its connection before the answer."""
    lines = [f"{case.method} {case.path} HTTP/1.1", "host: localhost"]
    lines += [f"{name}: {value}" for name, value in case.headers.items()]
    lines += [f"content-length: {len(case.body)}", "", ""]
    connection = socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS)
    connection.sendall("\r\n".join(lines).encode() + case.body)
    return connection


def test_a_client_that_leaves_is_noticed(port: int) -> None:
    for case in endless_cases():
        assert_leaving_is_noticed(port, case)


def assert_leaving_is_noticed(port: int, case: Case) -> None:
    before = read_status(port)
    connection = open_request(port, case)
    assert wait_until(lambda: bool(read_status(port)["requests"] > before["requests"]))
    connection.close()
    model = json.loads(case.body)["model"]
    assert wait_until(lambda: read_status(port)["outcomes"].get(model) == "client_gone")
    assert wait_until(lambda: bool(read_status(port)["tasks"] <= before["tasks"]))
    assert read_status(port)["streams"] == 0


@pytest.mark.usefixtures("forked_processes")
@pytest.mark.parametrize("server", ["uvicorn", "daphne"])
def test_any_server_can_run_the_application(server: str) -> None:
    """Without `serve`, the application itself creates the tables of an in-memory database."""
    with run_asgi_server(server, "mockllm_site.asgi:application", MOCKLLM_ENV="test") as port:
        models = Case("m", "/v1/models", method="GET", headers={"authorization": "Bearer k"})
        assert send_case(port, models).status == 200
        health = send_case(port, Case("h", "/healthz", method="GET"))
        assert (health.status, json.loads(health.body)["status"]) == (200, "ok")
        assert send_case(port, Case("s", "/control/state?session=s", method="GET")).status == 200
        assert b"mockllm" in send_case(port, Case("i", "/", method="GET")).body
        unknown_path = send_case(
            port, Case("n", "/v1/nothing", method="GET", headers={"host": "bad"})
        )
        assert unknown_path.status == 404 and b"invalid_request_error" in unknown_path.body
        bedrock = send_case(port, Case("b", "/model/m/converse", body=b"{}"))
        assert bedrock.status == 404 and b"Unknown request URL: POST /model/m" in bedrock.body
        page = Case("p", "/model/m/converse", method="GET", headers={"accept": "text/html"})
        assert b"<html" in send_case(port, page).body
        verdict = json.loads(send_case(port, Case("v", "/control/verdict", method="GET")).body)
        assert [entry["path"] for entry in verdict["unmatched"]] == [
            "/v1/nothing",
            "/model/m/converse",
        ]
