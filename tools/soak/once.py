"""Many clients and few answers: each is given to one of them, whatever happens to the servers."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from tools.soak.client import Client

PAUSE_SECONDS = 0.05
RIGHT = {200, 404, 503}


@dataclass
class Fight:
    """Results of all clients: responses by text, statuses, requests without a response.

    `consumed` counts the consumed steps of the session, `answered` the responses so far.
    """

    answers: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    gone: int = 0
    consumed: int = 0
    seconds: float = 0.0
    answered: int = 0

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
    beside: Callable[[Fight], Coroutine[None, None, None]] | None = None,
) -> Fight:
    """Send requests over `clients` connections until all steps are consumed and `beside` has
    ended."""
    result, began = Fight(), time.monotonic()
    happening = None if beside is None else asyncio.create_task(beside(result))

    async def one() -> None:
        client = Client(port, session=session)
        while happening is None or not happening.done():
            status, text = await client.ask()
            result.statuses[status] += 1
            if status == 200:
                result.answers[text] += 1
                result.answered += 1
            elif status == 404:
                break
            else:
                if status == 503:
                    assert "message" in json.loads(text)["error"], text
                await asyncio.sleep(PAUSE_SECONDS)
        result.gone += client.gone
        client.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(one())
    if happening is not None:
        await happening
    result.seconds = time.monotonic() - began
    asking = Client(port)
    state = await asking.control("GET", f"/control/state?session={session}")
    result.consumed = len(state["consumed"])
    asking.close()
    return result
