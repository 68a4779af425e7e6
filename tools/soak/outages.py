"""Kills and restarts workers and databases during other traffic."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from tests.serving.processes.serve_process import ServerProcess
from tools.soak.once import ClientResults

POLL_SECONDS = 0.02
MAX_SECONDS = 120.0


class Engine(Protocol):
    """A service that can be killed and started again."""

    def start(self) -> object: ...

    def stop(self) -> None: ...


@dataclass
class Outages:
    """Takes servers or engines away `times` times, each after `between` more responses. `recovered`
    has the seconds from the start of an engine to the next response."""

    times: int
    between: int = 20
    away_seconds: float = 0.5
    recovered: list[float] = field(default_factory=list)

    async def kill_workers(self, results: ClientResults, *, server: ServerProcess) -> None:
        """Kill a random worker, wait for its replacement, and repeat."""
        for _ in range(self.times):
            await self._wait_for_responses(results)
            before = server.children()
            victim = random.choice(sorted(before))
            os.kill(victim, signal.SIGKILL)
            await wait_until(lambda b=before: len(server.children() - b) > 0)  # type: ignore[misc]
        await self._wait_for_responses(results)

    async def restart_engine(self, results: ClientResults, *, engine: Engine) -> None:
        """Stop an engine for `away_seconds`, start it, wait for a response, and repeat."""
        for _ in range(self.times):
            await self._wait_for_responses(results)
            await asyncio.to_thread(engine.stop)
            await asyncio.sleep(self.away_seconds)
            await asyncio.to_thread(engine.start)
            back, answered = time.monotonic(), results.answered
            await wait_until(lambda n=answered: results.answered > n)  # type: ignore[misc]
            self.recovered.append(time.monotonic() - back)

    async def _wait_for_responses(self, results: ClientResults) -> None:
        """Wait until `between` more requests are answered."""
        target = results.answered + self.between
        await wait_until(lambda: results.answered >= target)


async def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds; raises TimeoutError after MAX_SECONDS."""
    async with asyncio.timeout(MAX_SECONDS):
        while not holds():
            await asyncio.sleep(POLL_SECONDS)
