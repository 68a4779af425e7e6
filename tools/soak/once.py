"""Lets many clients compete for steps that answer once, and counts what each step served."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from tools.soak.client import Client

PAUSE_SECONDS = 0.05
# 0: no response, which `unanswered` counts.
EXPECTED_STATUSES = {0, 200, 404, 503}


@dataclass
class ClientResults:
    """Results of all clients: responses by text, statuses, requests without a response.

    `consumed` counts the consumed steps of the session, `answered` the responses with 200.
    """

    answers: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    unanswered: int = 0
    consumed: int = 0
    seconds: float = 0.0
    answered: int = 0

    @property
    def repeated_texts(self) -> list[str]:
        """Return the texts that were served more than once."""
        return sorted(text for text, count in self.answers.items() if count > 1)

    @property
    def unexpected_statuses(self) -> dict[int, int]:
        """Return the number of responses by unexpected status."""
        return {
            status: n
            for status, n in self.statuses.items()
            if status not in EXPECTED_STATUSES | {0}
        }

    @property
    def summary(self) -> str:
        """Return the results as one line."""
        return (
            f"served {self.answers.total():,}, twice {len(self.repeated_texts)}, consumed "
            f"{self.consumed:,}, statuses {dict(sorted(self.statuses.items()))}, without answer "
            f"{self.unanswered}, {self.seconds:.1f} s"
        )


async def run_clients(
    port: int,
    *,
    clients: int,
    session: str,
    disturb: Callable[[ClientResults], Coroutine[None, None, None]] | None = None,
) -> ClientResults:
    """Send requests over `clients` connections until all steps are consumed and `disturb`, which
    disturbs the server meanwhile, has ended."""
    result, began = ClientResults(), time.monotonic()
    disturbance = None if disturb is None else asyncio.create_task(disturb(result))

    async def run_client() -> None:
        client = Client(port, session=session)
        while disturbance is None or not disturbance.done():
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
        result.unanswered += client.gone
        client.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(run_client())
    if disturbance is not None:
        await disturbance
    result.seconds = time.monotonic() - began
    client = Client(port)
    state = await client.control("GET", f"/control/state?session={session}")
    result.consumed = len(state["consumed"])
    client.close()
    return result
