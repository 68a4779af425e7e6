"""CPU per answer beside the fastest peers, in the same rounds: `make bench-peers`.

All hold 1,000 steps and give the same 200 words, whole or in about 66 events; those of Python cut
a stream as they like. The fastest is asked the same again and again, and things that differ, more
of them than our server knows again. Rounds alternate, so that what else runs on the machine meets
both; the ratio of each pair counts, and of all pairs the median, with the least and the greatest
beside it.
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

ASKED_FOR = 777
PLOT = ROOT / "docs" / "benchmarks.svg"
ROUNDS, ROUND_SECONDS, WARM_SECONDS = 7, 1.0, 2.0
MODES = ("test mode", "every row in SQLite")
# Of a processor, by servers that do nothing.
IDLE_SHARE = 0.05
# So many requests that differ are asked in turn: more than our server remembers.
DIFFERENT = 4_096
# Of the fastest peer by mode and kind, of those of Python by kind.
GOALS = {
    ("test mode", "whole"): 1.3,
    ("test mode", "stream"): 3.0,
    ("every row in SQLite", "whole"): 1.0,
    ("every row in SQLite", "stream"): 2.0,
}
PYTHON_GOALS = {"whole": 4.0, "stream": 20.0}


def document() -> dict[str, Any]:
    """Our scenario: one step for each topic."""
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


def request(port: int, *, stream: bool, number: int = 0) -> bytes:
    """A request that differs from those of other numbers by a few letters of its message."""
    text = f"please answer {NEEDLES[ASKED_FOR]} now, {number:06}"
    message = {"role": "user", "content": text}
    body = json.dumps({"model": "gpt-4o", "messages": [message], "stream": stream}).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        "Content-Type: application/json\r\nAuthorization: Bearer test\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@contextmanager
def ours(directory: Path, *, mode: str) -> Iterator[Running]:
    """Start our server, with rows in memory until they are read or written to SQLite."""
    path = directory / "scenarios.json"
    path.write_text(json.dumps(document()))
    variables = {"MOCKLLM_SCENARIOS": str(path), "MOCKLLM_ENV": "test"}
    if mode != "test mode":
        database = f"sqlite:///{directory / 'journal.sqlite3'}"
        variables |= {"MOCKLLM_ENV": "dev", "DATABASE_URL": database, "SECRET_KEY": "bench"}
    with running(*SERVE, variables=variables) as server:
        yield server


def microseconds(server: Running, *, stream: bool, seconds: float, differ: bool = False) -> float:
    """CPU of all threads of a server per answer, to the same request or to some that differ."""
    count = DIFFERENT if differ else 1
    requests = [request(server.port, stream=stream, number=number) for number in range(count)]
    before = spent(server.pid)
    done = ask(server.port, *requests, seconds=seconds)
    return (settled(server) - before).process / done * 1e6


def settled(server: Running) -> Spent:
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
        f"{'µs of CPU per answer':<58}{'peer':>8}{'ours':>8}{'ratio':>8}{'spread':>14}{'goal':>6}"
    )
    with tempfile.TemporaryDirectory() as folder:
        pairs = [pair for peer in peers for pair in against(peer, Path(folder))]
    write(PLOT, "µs of CPU per answer, beside peers (each tenfold is as wide)", pairs)
    print(f"the plot is in {PLOT.relative_to(ROOT)}")


def against(peer: Peer, folder: Path) -> Iterator[Pair]:
    with serving(peer, folder) as theirs:
        for mode in MODES if peer is AIMOCK else MODES[:1]:
            directory = folder / f"{peer.program}-{mode.split()[0]}"
            directory.mkdir()
            with ours(directory, mode=mode) as server:
                for stream in (False,) if peer.pauses else (False, True):
                    for differ in (False, True) if peer is AIMOCK else (False,):
                        case = Case(peer, mode, stream=stream, differ=differ)
                        yield compare(case, theirs, server)


@dataclass(frozen=True)
class Case:
    """A comparison: whole or streamed responses, to equal or different requests."""

    peer: Peer
    mode: str
    stream: bool
    differ: bool

    @property
    def kind(self) -> str:
        return "stream" if self.stream else "whole"

    @property
    def goal(self) -> float:
        return GOALS[self.mode, self.kind] if self.peer is AIMOCK else PYTHON_GOALS[self.kind]

    def __str__(self) -> str:
        suffix = ", requests differ" if self.differ else ""
        return f"{self.mode}, {self.kind}{suffix}"


def compare(case: Case, theirs: Running, server: Running) -> Pair:
    stream, differ = case.stream, case.differ
    for each in (theirs, server):
        microseconds(each, stream=stream, differ=differ, seconds=WARM_SECONDS)
    rounds = [
        (
            microseconds(theirs, stream=stream, differ=differ, seconds=ROUND_SECONDS),
            microseconds(server, stream=stream, differ=differ, seconds=ROUND_SECONDS),
        )
        for _ in range(ROUNDS)
    ]
    ratios = sorted(them / us for them, us in rounds)
    them, us = (statistics.median(column) for column in zip(*rounds, strict=True))
    row = f"{case.peer.title}, {case}"
    spread = f"{ratios[0]:.2f}–{ratios[-1]:.2f}"
    ratio, goal = statistics.median(ratios), case.goal
    print(f"{row:<58}{them:>8.0f}{us:>8.0f}{ratio:>8.2f}{spread:>14}{goal:>6}", flush=True)
    return Pair(f"{case.peer.title}: {case}", them, us)


if __name__ == "__main__":
    main()
