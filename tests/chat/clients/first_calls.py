"""A fresh process in which others' calls are running when something is called for the first time.

`python -m tests.chat.clients.first_calls NAME…`: providers, or `tools` for the SDK of MCP servers.
The first is running when the second comes, these two when the third does, and so on.
"""

import asyncio
import json
import sys

import django

if __name__ == "__main__":
    django.setup()

from chat_app import loop
from chat_app.clients.registry import get_client
from chat_app.models import ModelProfile
from chat_app.tools.toolbox import MCP_MODULE
from chat_app.values.model_call import Finished, ModelRequest, UserTurn
from mockllm_site.kit.imports import import_in_thread
from mockllm_site.serve import lifespan

PROVIDERS = ("anthropic", "google", "openai")
TOOLS = "tools"
RUNNING = 25
# Seconds between two starts, so that some call starts at every moment.
APART = 0.026


async def call(provider: str, session: str) -> None:
    """One answer of the catch-all, to its end."""
    profile = ModelProfile(provider_id=provider, model_id="m")
    client = get_client(profile, session=session)
    request = ModelRequest(model="m", turns=(UserTurn("Hello"),))
    events = [event async for event in client.stream(request)]
    assert isinstance(events[-1], Finished), events


class Running:
    """Calls of one provider, so many at once, one after the other until they are told to end."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.answered = 0
        self.failed: list[str] = []
        self._over = False
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        for number in range(RUNNING):
            session = f"{self.provider}-{number}"
            self._tasks.append(asyncio.create_task(self._go_on(session)))
            await asyncio.sleep(APART)

    async def end(self) -> None:
        self._over = True
        await asyncio.gather(*self._tasks)

    async def _go_on(self, session: str) -> None:
        while not self._over:
            try:
                await call(self.provider, session)
                self.answered += 1
            except Exception as error:
                self.failed.append(f"{self.provider}: {error}")


async def one_by_one(names: list[str]) -> dict[str, object]:
    """Return the outcomes of each first call and of the calls that ran beside it."""
    running: list[Running] = []
    beside: dict[str, list[str]] = {}
    failed: list[str] = []
    for newcomer in names:
        beside[newcomer] = [one.provider for one in running]
        try:
            if newcomer == TOOLS:
                await import_in_thread(MCP_MODULE)
            else:
                await call(newcomer, newcomer)
        except Exception as error:
            failed.append(f"{newcomer}: {error}")
        if newcomer != TOOLS:
            running.append(Running(newcomer))
            await running[-1].begin()
    await asyncio.gather(*(one.end() for one in running))
    return {
        "beside": beside,
        "answered": {one.provider: one.answered for one in running},
        "failed": failed + [text for one in running for text in one.failed],
    }


async def main(names: list[str]) -> None:
    await lifespan.start()
    print(json.dumps(await loop.run_on_loop(one_by_one(names))))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
    lifespan.stop(0)
