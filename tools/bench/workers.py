"""Answers in a second of a server of one worker and of two that share a Redis and a PostgreSQL.

Two workers, who asks and the two engines want more than two processors. Where there are no more,
the second ratio tells: of what workers would answer in a second with a processor each, by the CPU
that an answer takes them.
"""

import tempfile
from pathlib import Path

from tools.bench.cpu import spent
from tools.bench.load import ask
from tools.load.probing import chat, request
from tools.soak.client import CHAT
from tools.soak.servers import shared

GOAL = 1.8
SECONDS, ROUNDS = 10, 3
PLAIN: dict[str, object] = {
    "name": "plain",
    "steps": [{"consume": False, "produce": {"text": "A small answer."}}],
}


def answered(workers: int) -> tuple[float, float]:
    """Answers in a second, and in a second of their own CPU time."""
    with (
        tempfile.TemporaryDirectory() as place,
        shared(Path(place), PLAIN, workers=workers, warm=False) as server,
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
        rounds = [answered(count) for _ in range(ROUNDS)]
        seconds, cpu = map(max, zip(*rounds, strict=True))
        best[count] = (seconds, cpu * count)
        print(
            f"{count} worker{'s' if count > 1 else ''}: {seconds:,.0f} answers a second, "
            f"{cpu * count:,.0f} with a processor each"
        )
    ratios = [two / one for one, two in zip(best[1], best[2], strict=True)]
    print(f"ratio {ratios[0]:.2f}, with a processor each {ratios[1]:.2f}, goal {GOAL}")


if __name__ == "__main__":
    main()
