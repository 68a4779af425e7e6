"""Measures the CPU of an answer beside other mock servers: `make bench-peers`.

All servers have 1,000 steps and answer with the same 200 words, whole or in about 66 events; the
Python servers choose their own chunks. The fastest gets repeated, different and mixed requests
(`traffic`), the others repeated ones. Rounds alternate, so that other processes slow down both
servers. Printed are the median, the least and the greatest ratio of the pairs.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.bench.cpu import Spent, spent
from tools.bench.load import ask
from tools.bench.peer_servers import AIMOCK, NEEDLES, PYTHON, TEXT, Peer, can_install, serving
from tools.bench.plot import Pair, write
from tools.bench.servers import ROOT, SERVE, Running, running
from tools.bench.traffic import TRAFFIC, Traffic, requests

PLOT = ROOT / "docs" / "benchmarks.svg"
ROUNDS, ROUND_SECONDS, WARM_SECONDS = 7, 1.0, 2.0
MODES = ("test mode", "every row in SQLite")
# Share of a processor that idle servers use.
IDLE_SHARE = 0.05
# How many times cheaper than the fastest peer, by mode and traffic: whole, streamed. Then Python's.
GOALS: dict[tuple[str, Traffic], tuple[float, float]] = {
    ("test mode", "repeated"): (2.0, 4.0),
    ("test mode", "different"): (2.0, 4.0),
    ("test mode", "mixed"): (1.5, 3.0),
    ("every row in SQLite", "repeated"): (1.0, 2.0),
    ("every row in SQLite", "different"): (1.0, 2.0),
    ("every row in SQLite", "mixed"): (1.0, 2.0),
}
PYTHON_GOALS = {"whole": 4.0, "stream": 20.0}


def document() -> dict[str, Any]:
    """Return our scenario, with a step for each needle."""
    return {
        "name": "bench",
        "steps": [
            {
                "consume": False,
                "match": {"messages": [{"role": "user", "contains": needle}]},
                "produce": {"text": TEXT, "pacing": {"words_per_chunk": 3}},
            }
            for needle in NEEDLES
        ],
    }


@contextmanager
def run_server(directory: Path, *, mode: str) -> Iterator[Running]:
    """Start our server, with rows in memory until they are read or written to SQLite."""
    path = directory / "scenarios.json"
    path.write_text(json.dumps(document()))
    variables = {"MOCKLLM_SCENARIOS": str(path), "MOCKLLM_ENV": "test"}
    if mode != "test mode":
        database = f"sqlite:///{directory / 'journal.sqlite3'}"
        variables |= {"MOCKLLM_ENV": "dev", "DATABASE_URL": database, "SECRET_KEY": "bench"}
    with running(*SERVE, variables=variables) as server:
        yield server


def microseconds(server: Running, traffic: Traffic, *, stream: bool, seconds: float) -> float:
    """Return the CPU time of all threads of a server per answer, with what it does afterwards."""
    traffic_requests = list(requests(server.port, traffic, stream=stream))
    before = spent(server.pid)
    responses = ask(server.port, *traffic_requests, seconds=seconds)
    return (wait_until_idle(server) - before).process / responses * 1e6


def wait_until_idle(server: Running) -> Spent:
    """Return the CPU time of a server after it has finished its background writes."""
    now = spent(server.pid)
    while True:
        time.sleep(0.1)
        before, now = now, spent(server.pid)
        if (now - before).process < IDLE_SHARE * 0.1:
            return now


def main() -> None:
    peers = [peer for peer in (AIMOCK, *PYTHON) if can_install(peer)]
    if AIMOCK not in peers:
        print("aimock needs Node and npm: left out", file=sys.stderr)
    print(
        f"{'µs of CPU per answer':<66}{'peer':>8}{'ours':>8}{'ratio':>8}{'spread':>14}{'goal':>6}"
    )
    with tempfile.TemporaryDirectory() as folder:
        pairs = [pair for peer in peers for pair in compare_with(peer, Path(folder))]
    write(PLOT, "µs of CPU per answer, ours and theirs (logarithmic scale)", pairs)
    print(f"the plot is in {PLOT.relative_to(ROOT)}")


def compare_with(peer: Peer, folder: Path) -> Iterator[Pair]:
    """Run a peer and yield its comparisons with our server."""
    with serving(peer, folder) as theirs:
        for mode in MODES if peer is AIMOCK else MODES[:1]:
            directory = folder / f"{peer.program}-{mode.split()[0]}"
            directory.mkdir()
            with run_server(directory, mode=mode) as server:
                for stream in (False,) if peer.pauses else (False, True):
                    for traffic in TRAFFIC if peer is AIMOCK else TRAFFIC[:1]:
                        case = Case(peer, mode, stream=stream, traffic=traffic)
                        yield compare(case, theirs, server)


@dataclass(frozen=True)
class Case:
    """A comparison: whole or streamed responses to one kind of traffic."""

    peer: Peer
    mode: str
    stream: bool
    traffic: Traffic

    @property
    def kind(self) -> str:
        return "stream" if self.stream else "whole"

    @property
    def goal(self) -> float:
        if self.peer is AIMOCK:
            return GOALS[self.mode, self.traffic][self.stream]
        return PYTHON_GOALS[self.kind]

    def __str__(self) -> str:
        suffix = f", {self.traffic} requests" if self.peer is AIMOCK else ""
        return f"{self.mode}, {self.kind}{suffix}"


def compare(case: Case, theirs: Running, server: Running) -> Pair:
    """Print and return the median costs of a case, and the ratios of its rounds."""

    def measure(server: Running, seconds: float) -> float:
        return microseconds(server, case.traffic, stream=case.stream, seconds=seconds)

    for each in (theirs, server):
        measure(each, WARM_SECONDS)
    rounds = [
        (measure(theirs, ROUND_SECONDS), measure(server, ROUND_SECONDS)) for _ in range(ROUNDS)
    ]
    ratios = sorted(them / us for them, us in rounds)
    them, us = (statistics.median(column) for column in zip(*rounds, strict=True))
    row = f"{case.peer.title}, {case}"
    spread = f"{ratios[0]:.2f}–{ratios[-1]:.2f}"
    ratio, goal = statistics.median(ratios), case.goal
    print(f"{row:<66}{them:>8.0f}{us:>8.0f}{ratio:>8.2f}{spread:>14}{goal:>6}", flush=True)
    return Pair(f"{case.peer.title}: {case}", them, us)


if __name__ == "__main__":
    main()
