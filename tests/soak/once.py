"""Many clients and few answers: each is given to one of them, whatever happens to the servers."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tests.soak.client import Client

PAUSE_SECONDS = 0.05
RIGHT = {200, 404, 503}


@dataclass
class Fight:
    """What clients got until nothing was left: answers by their texts, statuses, and how many
    requests had no answer. `consumed` is what the session has consumed, `clock` the time of each
    answer, and of each 503, since the beginning."""

    answers: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    gone: int = 0
    consumed: int = 0
    seconds: float = 0.0
    answered_at: list[float] = field(default_factory=list)
    refused_at: list[float] = field(default_factory=list)

    @property
    def twice(self) -> list[str]:
        return sorted(text for text, count in self.answers.items() if count > 1)

    @property
    def wrong(self) -> dict[int, int]:
        """Answers that are neither right nor a 503 that says so."""
        return {status: n for status, n in self.statuses.items() if status not in RIGHT | {0}}

    @property
    def told(self) -> str:
        return (
            f"served {self.answers.total():,}, twice {len(self.twice)}, consumed "
            f"{self.consumed:,}, statuses {dict(sorted(self.statuses.items()))}, without answer "
            f"{self.gone}, {self.seconds:.1f} s"
        )


async def fight(
    port: int,
    *,
    clients: int,
    session: str,
    beside: Callable[[], Awaitable[None]] | None = None,
) -> Fight:
    """Ask from so many connections at once until each has heard that nothing is left, while
    something else happens beside."""
    found, began = Fight(), time.monotonic()

    async def one() -> None:
        client = Client(port, session=session)
        while True:
            status, text = await client.ask()
            found.statuses[status] += 1
            now = time.monotonic() - began
            if status == 200:
                found.answers[text] += 1
                found.answered_at.append(now)
            elif status == 404:
                break
            else:
                if status == 503:
                    assert "try again" in json.loads(text)["error"]["message"], text
                    found.refused_at.append(now)
                await asyncio.sleep(PAUSE_SECONDS)
        found.gone += client.gone
        client.close()

    happening = None if beside is None else asyncio.create_task(beside())
    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(one())
    if happening is not None:
        await happening
    found.seconds = time.monotonic() - began
    asking = Client(port)
    state = await asking.control("GET", f"/control/state?session={session}")
    found.consumed = len(state["consumed"])
    asking.close()
    return found
