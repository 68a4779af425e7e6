"""What the first message of a process would wait for, done before it comes: the SDKs that profiles
need are imported, and the MCP servers that they name are opened."""

import asyncio
import logging
from typing import Any

from chat_app import loop
from chat_app.clients.calling import imported
from chat_app.clients.providers import provider_of
from chat_app.models import ModelProfile
from chat_app.tools import toolbox
from traces_app.database import in_database

log = logging.getLogger(__name__)

_tasks: set["asyncio.Task[Any]"] = set()


def warm_up() -> None:
    """Begin, and wait for nothing. What cannot be had is left to the message that wants it."""
    loop.before_stop(_leave_off)
    loop.submit(_warm_up())


async def _warm_up() -> None:
    task = asyncio.current_task()
    assert task is not None
    _tasks.add(task)
    try:
        modules, servers = await in_database(_wanted)
        # One after the other: packages that import the same others must not do so at once.
        for module in modules:
            await _import(module)
        await toolbox().available(servers)
    except Exception:
        log.exception("the chat could not be warmed up")
    finally:
        _tasks.discard(task)


async def _import(module: str) -> None:
    try:
        await imported(module)
    except ImportError as error:
        log.info("%s cannot be imported: %s", module, error)


def _wanted() -> tuple[list[str], list[str]]:
    """The modules and the servers that profiles need."""
    profiles = ModelProfile.objects.values_list("provider_id", "mcp_servers")
    modules = {provider_of(provider_id).family.loads for provider_id, _ in profiles}
    # A stored profile may hold anything.
    servers = {
        name
        for _, names in profiles
        if isinstance(names, list)
        for name in names
        if isinstance(name, str)
    }
    return sorted(modules), sorted(servers)


async def _leave_off(seconds: float) -> None:
    """Nothing more is opened once the end has begun."""
    for task in _tasks:
        task.cancel()
    await asyncio.gather(*_tasks, return_exceptions=True)
