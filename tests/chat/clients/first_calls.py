"""A fresh process that makes each first call while calls of other providers are running.

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
CONCURRENT_CALLS = 25
# Calls start one after another, so that some call starts at every moment.
START_INTERVAL_SECONDS = 0.026


async def call(provider: str, session: str) -> None:
    """Stream one answer of the catch-all to its end."""
    profile = ModelProfile(provider_id=provider, model_id="m")
    client = get_client(profile, session=session)
    request = ModelRequest(model="m", turns=(UserTurn("Hello"),))
    events = [event async for event in client.stream(request)]
    assert isinstance(events[-1], Finished), events


class RunningCalls:
    """Repeated concurrent calls of one provider until `end` is awaited."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.answer_count = 0
        self.errors: list[str] = []
        self._ending = False
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        for number in range(CONCURRENT_CALLS):
            session = f"{self.provider}-{number}"
            self._tasks.append(asyncio.create_task(self._call_until_end(session)))
            await asyncio.sleep(START_INTERVAL_SECONDS)

    async def end(self) -> None:
        self._ending = True
        await asyncio.gather(*self._tasks)

    async def _call_until_end(self, session: str) -> None:
        while not self._ending:
            try:
                await call(self.provider, session)
                self.answer_count += 1
            except Exception as error:
                self.errors.append(f"{self.provider}: {error}")


async def make_first_calls(names: list[str]) -> dict[str, object]:
    """Return the outcomes of each first call and of the calls that ran beside it."""
    running: list[RunningCalls] = []
    beside: dict[str, list[str]] = {}
    failed: list[str] = []
    for newcomer in names:
        beside[newcomer] = [calls.provider for calls in running]
        try:
            if newcomer == TOOLS:
                await import_in_thread(MCP_MODULE)
            else:
                await call(newcomer, newcomer)
        except Exception as error:
            failed.append(f"{newcomer}: {error}")
        if newcomer != TOOLS:
            running.append(RunningCalls(newcomer))
            await running[-1].begin()
    await asyncio.gather(*(calls.end() for calls in running))
    return {
        "beside": beside,
        "answered": {calls.provider: calls.answer_count for calls in running},
        "failed": failed + [text for calls in running for text in calls.errors],
    }


async def main(names: list[str]) -> None:
    await lifespan.start()
    print(json.dumps(await loop.run_on_loop(make_first_calls(names))))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
    lifespan.stop(0)
