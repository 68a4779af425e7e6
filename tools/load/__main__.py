"""Attacks a server and prints the effect on other clients, then takes its database away and prints
the effect on the journal. Arguments select attacks by name."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.serving.processes.serve_process import ServerProcess, run_server
from tools.load.attacks import ATTACKS, SCENARIOS
from tools.load.connections import (
    endless_head,
    half_open_heads,
    idle_connections,
    pausing_clients,
    slow_readers,
    stalled_bodies,
    too_many,
)
from tools.load.floods import FLOODS
from tools.load.frames import FRAMES
from tools.load.outage import PER_SECOND, outage, report_lines
from tools.load.probing import SETTLE_SECONDS, ask, measuring_effect, request

ALL_ATTACKS = {
    **ATTACKS,
    "an endless head": endless_head,
    "1,000 stalled bodies": stalled_bodies,
    "3,000 half-open heads": half_open_heads,
    "300 readers of a byte a second": slow_readers,
    "3,000 clients": too_many,
    "3,000 idle connections": idle_connections,
    "200 clients that pause": pausing_clients,
    **FLOODS,
    **FRAMES,
}
FIRST_MESSAGE = b'{"client_id": "load", "message": "a small question"}'
# The usual limit of a process.
DESCRIPTORS = 1_024
AWAY_SECONDS = 60


async def print_effects(server: ServerProcess, names: list[str]) -> None:
    """Run these attacks on a server and print a line about each."""
    # The server warms up after its start, and this message waits until the last of that is done.
    assert await ask(server.port, request("/api/get_chat_response_stream", FIRST_MESSAGE)) == 200
    print(f"{'':<32}{'others wait':>12}{'memory':>10}{'left':>10}{'seconds':>9}  answers")
    for name in names:
        async with measuring_effect(server.port, server.process.pid) as effect:
            answers = await ALL_ATTACKS[name](server.port)
        print(
            f"{name:<32}{effect.longest * 1000:>9.0f} ms{effect.grown:>7.0f} MB"
            f"{effect.left:>7.0f} MB{effect.seconds:>9.1f}  {answers}",
            flush=True,
        )
        await asyncio.sleep(SETTLE_SECONDS)


def run_attacks(names: list[str]) -> None:
    """Start a server and run these attacks on it."""
    with tempfile.TemporaryDirectory() as folder:
        scenarios = Path(folder, "scenarios.json")
        scenarios.write_text(json.dumps({"scenarios": SCENARIOS}))
        variables: dict[str, Any] = {"MOCKLLM_SCENARIOS": str(scenarios)}
        with run_server(Path(folder), descriptors=DESCRIPTORS, **variables) as server:
            asyncio.run(print_effects(server, names))


def run_outage() -> None:
    """Take a server's database away and print which requests its journal has."""
    print(f"a database that is away for {AWAY_SECONDS} s at {PER_SECOND} requests a second")
    around, during = 2 * PER_SECOND, AWAY_SECONDS * PER_SECOND
    with tempfile.TemporaryDirectory() as folder:
        print(report_lines(outage(Path(folder), before=around, during=during, after=around)))


def main() -> None:
    words = sys.argv[1:]
    if names := [name for name in ALL_ATTACKS if not words or any(w in name for w in words)]:
        run_attacks(names)
    if not words or "outage" in words:
        run_outage()


if __name__ == "__main__":
    main()
