"""Answers in a second of a server of one worker and of two that share a Redis and a PostgreSQL. Two
of them, and who asks, need more than one processor each to themselves: on a machine that does
anything else the ratio says nothing."""

import tempfile
from pathlib import Path

from tests.bench.load import ask
from tests.load.probing import chat, request
from tests.soak.client import CHAT
from tests.soak.servers import shared

GOAL = 1.8
SECONDS, ROUNDS = 10, 3
PLAIN: dict[str, object] = {
    "name": "plain",
    "steps": [{"consume": False, "produce": {"text": "A small answer."}}],
}


def per_second(workers: int) -> float:
    with (
        tempfile.TemporaryDirectory() as place,
        shared(Path(place), PLAIN, workers=workers) as server,
    ):
        data = request(CHAT, chat("Hello"))
        ask(server.port, data, seconds=1)
        return ask(server.port, data, seconds=SECONDS) / SECONDS


def main() -> None:
    best = {count: max(per_second(count) for _ in range(ROUNDS)) for count in (1, 2)}
    for count, answers in best.items():
        print(f"{count} worker{'s' if count > 1 else ''}: {answers:,.0f} answers a second")
    print(f"ratio {best[2] / best[1]:.2f}, goal {GOAL}")


if __name__ == "__main__":
    main()
