"""Compares the responses a second of one worker and of two, with a Redis and a PostgreSQL.

Two workers, the client and the two engines need more than two processors. With fewer, the second
ratio counts: the responses a second if each worker had a processor, by the CPU of a response.
"""

import tempfile
from pathlib import Path

from tools.bench.cpu import spent
from tools.bench.load import ask
from tools.load.probing import chat, request
from tools.soak.client import CHAT
from tools.soak.servers import run_shared_server

GOAL = 1.8
SECONDS, ROUNDS = 10, 3
PLAIN: dict[str, object] = {
    "name": "plain",
    "steps": [{"consume": False, "produce": {"text": "A small answer."}}],
}


def measure_rate(workers: int) -> tuple[float, float]:
    """Return the responses a second, and those in a second of the CPU of the workers."""
    with (
        tempfile.TemporaryDirectory() as place,
        run_shared_server(Path(place), PLAIN, workers=workers, warm=False) as server,
    ):
        data, pids = request(CHAT, chat("Hello")), server.children() or {server.process.pid}
        # Time for imports after the ready line.
        ask(server.port, data, seconds=SECONDS)
        before = sum(spent(pid).process for pid in pids)
        answers = ask(server.port, data, seconds=SECONDS)
        cpu = sum(spent(pid).process for pid in pids) - before
        return answers / SECONDS, answers / cpu


def main() -> None:
    best: dict[int, tuple[float, float]] = {}
    for count in (1, 2):
        rounds = [measure_rate(count) for _ in range(ROUNDS)]
        seconds, cpu = map(max, zip(*rounds, strict=True))
        best[count] = (seconds, cpu * count)
        print(
            f"{count} worker{'s' if count > 1 else ''}: {seconds:,.0f} answers a second, "
            f"{cpu * count:,.0f} with a processor each"
        )
    ratios = [two / single for single, two in zip(best[1], best[2], strict=True)]
    print(f"ratio {ratios[0]:.2f}, with a processor each {ratios[1]:.2f}, goal {GOAL}")


if __name__ == "__main__":
    main()
