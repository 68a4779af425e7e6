"""Measures how the cost of a response grows with one quantity: `python -m tools.bench.axes`.

Whole responses of OpenAI's API, in CPU microseconds of the process; the best of several rounds
counts. Steps, message length and open streams are measured in test mode; journal rows with SQLite.
"""

import json
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.bench.__main__ import measure
from tools.bench.servers import SERVE, Running, running
from tools.load.probing import chat, request

ROUNDS = 6
# Time for imports after the ready line.
WARM_SECONDS = 4.0
STEPS, CHARACTERS, STREAMS = (10, 1_000, 100_000), (100, 7_000, 60_000), (0, 500, 2_000)
# The default maximum of the table, and an empty table.
ROWS = (0, 10_000)
PATH = "/v1/chat/completions"


def main() -> None:
    print(f"{'µs of CPU per answer':<28}{'':>9}{'whole':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for count in STEPS:
            with run_server(Path(folder), make_steps(count)) as server:
                cost = measure_best(server, encode_request("Tell me of topic 5; now"))
                print_cost("steps", count, cost)
        with run_server(Path(folder), make_steps(1_000)) as server:
            for count in CHARACTERS:
                cost = measure_best(server, encode_request(make_long_text(count)))
                print_cost("characters asked", count, cost)
            for count in STREAMS:
                with open_streams(server, count):
                    cost = measure_best(server, encode_request("Tell me of topic 5; now"))
                print_cost("paced streams open", count, cost)
        with run_server(Path(folder), make_steps(1_000), file=True) as server:
            data, done = encode_request("Tell me of topic 5; now"), 0
            for count in ROWS:
                while done < count:
                    done += sum(send_request(server, data) for _ in range(500))
                print_cost("rows in the journal", count, measure_best(server, data))


def print_cost(what: str, count: int, cost: float) -> None:
    print(f"{what:<28}{count:>9,}{cost:>8.0f}", flush=True)


def make_steps(count: int) -> dict[str, Any]:
    """Return `count` steps that each match a different topic, ten per scenario, and a slow one."""
    scenarios = [
        {
            "name": f"topics-{first}",
            "steps": [
                make_step(f"topic {number};", "Well.") for number in range(first, first + 10)
            ],
        }
        for first in range(0, count, 10)
    ]
    slow = make_step("slowly", "word " * 2_000)
    slow["produce"]["pacing"] = {"chunk_ms": 1_000, "words_per_chunk": 1}
    return {"scenarios": [*scenarios, {"name": "slow", "steps": [slow]}]}


def make_step(part: str, text: str) -> dict[str, Any]:
    match = {"messages": [{"role": "user", "contains": part}]}
    return {"match": match, "consume": False, "produce": {"text": text}}


def encode_request(content: str, *, stream: bool = False) -> bytes:
    return request(PATH, chat(content, stream=stream))


def make_long_text(characters: int) -> str:
    return "word " * (characters // 5) + "topic 5; now"


@contextmanager
def run_server(folder: Path, document: dict[str, Any], *, file: bool = False) -> Iterator[Running]:
    path = folder / "scenarios.json"
    path.write_text(json.dumps(document))
    variables = {"MOCKLLM_SCENARIOS": str(path), "MOCKLLM_ENV": "test"}
    if file:
        database = f"sqlite:///{folder / 'journal.sqlite3'}"
        variables |= {"MOCKLLM_ENV": "dev", "DATABASE_URL": database, "SECRET_KEY": "bench"}
    with running(*SERVE, variables=variables) as server:
        time.sleep(WARM_SECONDS)
        yield server


@contextmanager
def open_streams(server: Running, count: int) -> Iterator[None]:
    """Open `count` streams that send a word per second and are not read."""
    streams: Sequence[socket.socket] = [
        socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)
    ]
    try:
        for stream in streams:
            stream.sendall(encode_request("slowly", stream=True))
        time.sleep(1)
        yield
    finally:
        for stream in streams:
            stream.close()


def measure_best(server: Running, data: bytes) -> float:
    return min(measure(server, data).process for _ in range(ROUNDS))


def send_request(server: Running, data: bytes) -> int:
    """Send a request, which adds one row to the journal; return 1."""
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(data)
        assert client.recv(65_536).startswith(b"HTTP/1.1 200")
    return 1


if __name__ == "__main__":
    main()
