"""Measures the cost of a cell of a sweep beyond its command: `python -m tools.bench.sweeps`.

The command runs alone and as a cell, in turn. The cost of a cell is the additional time, and the
additional CPU of the sweep and of its server. Medians count.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from statistics import median

from scenarios_app.proof.sweep import Bench, SweepOptions
from scenarios_app.proof.torture import TORTURE
from scenarios_app.testing.control import Control
from scenarios_app.testing.process import ServerOptions, server_process
from tools.bench.cpu import spent

ROUNDS, GOAL_MS, MAX_SECONDS = 15, 50.0, 60.0
REQUESTS = (2, 20, 100)
PAUSE_SECONDS = 2
SCENARIO = {"name": "hello", "steps": [{"produce": {"text": "Hello, how can I help you?"}}]}
CLIENT = """
import http.client, json, os, sys, time
from urllib.parse import urlsplit

url = urlsplit(os.environ["OPENAI_BASE_URL"])
headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
headers["content-type"] = "application/json"
connection = http.client.HTTPConnection(url.hostname, url.port)
for number in range(int(sys.argv[1])):
    messages = [{"role": "user", "content": f"hello {number}"}]
    body = json.dumps({"model": "gpt-4o", "messages": messages})
    connection.request("POST", url.path + "/chat/completions", body, headers)
    assert connection.getresponse().read()
time.sleep(float(sys.argv[2]))
"""


@dataclass(frozen=True)
class Cost:
    """Elapsed milliseconds, and CPU milliseconds of this process and of the server."""

    elapsed: float
    sweep_cpu: float
    server_cpu: float


def main() -> None:
    print(f"{'ms of a cell beside its command':<34}{'time':>8}{'sweep':>8}{'server':>8}{'goal':>8}")
    for requests in REQUESTS:
        report(f"{requests} requests", requests, pause=0)
    report(f"2 requests in {PAUSE_SECONDS} s", 2, pause=PAUSE_SECONDS, rounds=3)


def report(name: str, requests: int, *, pause: float, rounds: int = ROUNDS) -> None:
    command = (sys.executable, "-S", "-c", CLIENT, str(requests), str(pause))
    options = SweepOptions(TORTURE, command)
    with (
        server_process(ServerOptions([SCENARIO])) as (base_url, pid),
        closing(Control(base_url)) as control,
    ):
        bench = Bench(options, control)

        def run_cell() -> None:
            change = {"answer": 1, "alteration": "wrong_finish"}
            run = bench.observe([change], session="nobody", limit=MAX_SECONDS)
            if run.program.code or len(run.requests) != requests:
                raise RuntimeError(run.program.output)

        def run_alone() -> None:
            environment = {"OPENAI_BASE_URL": f"{base_url}/v1", "OPENAI_API_KEY": "alone"}
            subprocess.run(command, env=environment, check=True)

        # The first call of the control API imports it.
        run_cell()
        pairs = [(measure(run_alone, pid), measure(run_cell, pid)) for _ in range(rounds)]
    added = median(cell.elapsed - alone.elapsed for alone, cell in pairs)
    sweep_cpu = median(cell.sweep_cpu - alone.sweep_cpu for alone, cell in pairs)
    server_cpu = median(cell.server_cpu - alone.server_cpu for alone, cell in pairs)
    print(f"{name:<34}{added:>8.1f}{sweep_cpu:>8.1f}{server_cpu:>8.1f}{GOAL_MS:>8.0f}", flush=True)


def measure(part: Callable[[], None], pid: int) -> Cost:
    """Return the cost of a part on the server with this process id."""
    server, sweep_cpu, start = spent(pid), time.process_time(), time.monotonic()
    part()
    elapsed, cpu = time.monotonic() - start, time.process_time() - sweep_cpu
    return Cost(elapsed * 1e3, cpu * 1e3, (spent(pid) - server).process * 1e3)


if __name__ == "__main__":
    main()
