"""What the first message of a process would wait for, done before it comes: the SDKs that profiles
need are imported, and the MCP servers that they name are opened."""

import asyncio
import logging
from typing import Any, Final

from django.db.models import QuerySet

from chat_app import loop
from chat_app.clients.providers import provider_of
from chat_app.imports import imported
from chat_app.loop import submit
from chat_app.models import ModelProfile
from chat_app.tools.toolbox import toolbox
from mockllm_site.kit.database_thread import in_database
from traces_app.leases import current_owner, end_dead_runs, lease_watch
from traces_app.models import Status, Trace

log = logging.getLogger(__name__)

# What is waited beyond a lease's time, so that it is over by then.
BEYOND_SECONDS: Final = 0.1


async def repair() -> None:
    """End the runs whose processes died, now, and once more when the leases of others have had the
    time to stand still: the process that had one may have died on another machine."""
    await in_database(end_dead_runs)
    if await in_database(_others().exists):
        submit(_again())


async def _again() -> None:
    await asyncio.sleep(lease_watch.seconds + BEYOND_SECONDS)
    try:
        await in_database(end_dead_runs)
    except Exception:
        log.exception("dead runs could not be ended")


def _others() -> QuerySet[Trace]:
    return Trace.objects.filter(status=Status.RUNNING).exclude(owner=current_owner())


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
