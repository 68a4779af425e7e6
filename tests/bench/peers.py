"""CPU per answer beside the fastest peer, aimock, in the same rounds: `make bench-peers`.

Both hold 1,000 steps and give the same 200 words, whole or in about 66 events. The peer comes from
npm into `.peers/`. Rounds alternate, so that what else runs on the machine meets both; the ratio of
each pair counts, and of all pairs the median, with the least and the greatest beside it.
"""

import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.cpu import spent
from tests.bench.load import ask
from tests.bench.servers import ROOT, SERVE, Running, running

PACKAGE, VERSION, COMMAND = "@copilotkit/aimock", "1.43.0", "llmock"
FOLDER = ROOT / ".peers"
STEPS = 1_000
ASKED_FOR = 777
WORDS = [f"word{i:03}" for i in range(200)]
# 64 pieces of the text; with the role and the finish 66 events.
PIECE = len(" ".join(WORDS)) // 64 + 1
ROUNDS, ROUND_SECONDS, WARM_SECONDS = 7, 1.0, 2.0
GOALS = {
    "test mode, whole": 1.3,
    "test mode, stream": 3.0,
    "every row in SQLite, whole": 1.0,
    "every row in SQLite, stream": 2.0,
}


def document() -> dict[str, Any]:
    """Our scenario: one step for each topic."""
    return {
        "name": "bench",
        "steps": [
            {
                "consume": False,
                "match": {"messages": [{"role": "user", "contains": f"needle-{n:03}."}]},
                "produce": {"text": " ".join(WORDS), "pacing": {"words_per_chunk": 3}},
            }
            for n in range(STEPS)
        ],
    }


def fixtures() -> dict[str, Any]:
    """The peer's: the same topics and texts."""
    return {
        "fixtures": [
            {
                "match": {"userMessage": f"needle-{n:03}."},
                "response": {"content": " ".join(WORDS)},
            }
            for n in range(STEPS)
        ]
    }


def request(port: int, *, stream: bool) -> bytes:
    message = {"role": "user", "content": f"please answer needle-{ASKED_FOR}. now"}
    body = json.dumps({"model": "gpt-4o", "messages": [message], "stream": stream}).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        "Content-Type: application/json\r\nAuthorization: Bearer test\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@contextmanager
def peer(directory: Path) -> Iterator[Running]:
    """The peer, installed when it is missing."""
    program = FOLDER / "node_modules" / ".bin" / COMMAND
    if not program.exists():
        FOLDER.mkdir(exist_ok=True)
        package = f"{PACKAGE}@{VERSION}"
        install = ["npm", "install", "--prefix", str(FOLDER), "--no-audit", "--no-fund", package]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    path = directory / "fixtures.json"
    path.write_text(json.dumps(fixtures()))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    process = subprocess.Popen(
        [program, "-p", str(port), "-f", path, "-c", str(PIECE), "--log-level", "silent"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        _await(port)
        yield Running(process.pid, port)
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def ours(directory: Path, *, mode: str) -> Iterator[Running]:
    """Our server, its rows in memory until somebody reads, or each in SQLite."""
    path = directory / "scenarios.json"
    path.write_text(json.dumps(document()))
    variables = {"MOCKLLM_SCENARIOS": str(path), "MOCKLLM_ENV": "test"}
    if mode != "test mode":
        database = f"sqlite:///{directory / 'journal.sqlite3'}"
        variables |= {"MOCKLLM_ENV": "dev", "DATABASE_URL": database, "SECRET_KEY": "bench"}
    with running(*SERVE, variables=variables) as server:
        yield server


def microseconds(server: Running, *, stream: bool, seconds: float) -> float:
    """CPU of all threads of a server per answer."""
    before, asked = spent(server.pid), request(server.port, stream=stream)
    done = ask(server.port, asked, seconds=seconds)
    # What was recorded last is written within this time.
    time.sleep(0.1)
    return (spent(server.pid) - before).process / done * 1e6


def main() -> None:
    if shutil.which("npm") is None:
        sys.exit("the peer needs Node and npm")
    print(
        f"{'µs of CPU per answer':<32}{'aimock':>8}{'ours':>8}{'ratio':>8}{'spread':>14}{'goal':>6}"
    )
    with tempfile.TemporaryDirectory() as folder, peer(Path(folder)) as theirs:
        for mode in ("test mode", "every row in SQLite"):
            directory = Path(folder, mode.split()[0])
            directory.mkdir()
            with ours(directory, mode=mode) as server:
                for stream in (False, True):
                    compare(f"{mode}, {'stream' if stream else 'whole'}", theirs, server, stream)


def compare(name: str, theirs: Running, server: Running, stream: bool) -> None:
    for each in (theirs, server):
        microseconds(each, stream=stream, seconds=WARM_SECONDS)
    rounds = [
        (
            microseconds(theirs, stream=stream, seconds=ROUND_SECONDS),
            microseconds(server, stream=stream, seconds=ROUND_SECONDS),
        )
        for _ in range(ROUNDS)
    ]
    ratios = sorted(them / us for them, us in rounds)
    them, us = (statistics.median(column) for column in zip(*rounds, strict=True))
    spread = f"{ratios[0]:.2f}–{ratios[-1]:.2f}"
    ratio = statistics.median(ratios)
    print(f"{name:<32}{them:>8.0f}{us:>8.0f}{ratio:>8.2f}{spread:>14}{GOALS[name]:>6}", flush=True)


def _await(port: int) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the peer did not start")


if __name__ == "__main__":
    main()
