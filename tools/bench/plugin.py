"""Measures the CPU milliseconds that a plugin test adds to its requests, and the first test's
delay.

A test here does what the fixture `mockllm` does: one stub, one request, the verdict and the reset,
with others in parallel. The best of several rounds counts.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection

from scenarios_app.testing.control import Control
from scenarios_app.testing.sessions import SharedServer
from scenarios_app.testing.stubs import Mockllm
from tools.bench.cpu import spent
from tools.bench.servers import ROOT, SERVE, Running, running

ROUNDS, TESTS = 5, 100
GOAL_MS, FIRST_GOAL_SECONDS = 5.0, 2.0
BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "The weather, please."}]}
FIRST_USE = """
from scenarios_app.testing.control import Control
from scenarios_app.testing.shared.server_pool import server_for
with server_for({}) as base_url:
    Control(base_url).send("GET", "state", session="any")
    print("first", flush=True)
"""


def main() -> None:
    print(f"{'ms of CPU per test, of the plugin':<36}{'server':>8}{'client':>8}{'goal':>8}")
    with running(*SERVE, variables={"MOCKLLM_ENV": "test"}) as server:
        rounds = [measure_parts(server, number) for number in range(ROUNDS)]
    best = {
        part: tuple(map(min, zip(*(r[part] for r in rounds), strict=True))) for part in rounds[0]
    }
    for part, (there, here) in best.items():
        print(f"{part:<36}{there:>8.2f}{here:>8.2f}")
    there, here = (sum(column) for column in zip(*best.values(), strict=True))
    print(f"{'a test':<36}{there:>8.2f}{here:>8.2f}{GOAL_MS:>8.1f}")
    seconds = min(time_first_use() for _ in range(3))
    print(f"{'seconds to the first use':<36}{seconds:>16.2f}{FIRST_GOAL_SECONDS:>8.1f}", flush=True)


def measure_parts(server: Running, number: int) -> dict[str, tuple[float, float]]:
    """Return the cost of each part of a test, in the server and in this process."""
    control = Control(f"http://127.0.0.1:{server.port}")
    connection = HTTPConnection("127.0.0.1", server.port)
    shared = SharedServer(control, exclusive=True)
    tests = [shared.session(f"{number}-{test}") for test in range(TESTS)]
    reply_cost = measure(server, lambda test: test.on("weather").reply("Sunny."), tests)
    for test in tests:
        ask(connection, test.api_key)
    verdict_cost = measure(server, assert_passed, tests)
    end_cost = measure(server, shared.end_session, tests)
    connection.close()
    shared.close()
    return {"a stub": reply_cost, "its verdict": verdict_cost, "its reset": end_cost}


def measure(
    server: Running, part: Callable[[Mockllm], object], tests: list[Mockllm]
) -> tuple[float, float]:
    before, start = spent(server.pid), time.process_time()
    for test in tests:
        part(test)
    here, there = time.process_time() - start, spent(server.pid) - before
    return there.process / len(tests) * 1e3, here / len(tests) * 1e3


def ask(connection: HTTPConnection, key: str) -> None:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/chat/completions", json.dumps(BODY), headers)
    response = connection.getresponse()
    if response.status != 200:
        raise ValueError(response.read()[:500])
    response.read()


def assert_passed(test: Mockllm) -> None:
    verdict = test.verdict()
    if not verdict["passed"] or verdict["requests"] != 1:
        raise ValueError(verdict["text"])


def time_first_use() -> float:
    """Return the seconds from the start of a new process until its server answers."""
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", FIRST_USE], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.monotonic() - start
    if line != "first\n":
        raise RuntimeError("no server started")
    return seconds


if __name__ == "__main__":
    main()
