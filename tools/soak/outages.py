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
from tools.soak.once import Fight

LOOK_SECONDS = 0.02
MAX_SECONDS = 120.0


class Engine(Protocol):
    """A service that can be killed and started again."""

    def start(self) -> object: ...

    def stop(self) -> None: ...


@dataclass
class Outages:
    """`recovered`: the seconds from an engine's being back to the next answer."""

    times: int
    between: int = 20
    away_seconds: float = 0.5
    recovered: list[float] = field(default_factory=list)

    async def of_workers(self, fight: Fight, *, server: ServerProcess) -> None:
        """Kill one worker after the other, each time some answers have come since."""
        for _ in range(self.times):
            await self._answers(fight)
            before = server.children()
            victim = random.choice(sorted(before))
            os.kill(victim, signal.SIGKILL)
            await until(lambda b=before: len(server.children() - b) > 0)  # type: ignore[misc]
        await self._answers(fight)

    async def of(self, fight: Fight, *, engine: Engine) -> None:
        """Take an engine away again and again."""
        for _ in range(self.times):
            await self._answers(fight)
            await asyncio.to_thread(engine.stop)
            await asyncio.sleep(self.away_seconds)
            await asyncio.to_thread(engine.start)
            back, answered = time.monotonic(), fight.answered
            await until(lambda n=answered: fight.answered > n)  # type: ignore[misc]
            self.recovered.append(time.monotonic() - back)

    async def _answers(self, fight: Fight) -> None:
        wanted = fight.answered + self.between
        await until(lambda: fight.answered >= wanted)


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something that is to come."""
    async with asyncio.timeout(MAX_SECONDS):
        while not holds():
            await asyncio.sleep(LOOK_SECONDS)
