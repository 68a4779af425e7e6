"""What the first message of a process would wait for, done before it comes: the SDKs that profiles
need are imported, and the MCP servers that they name are opened."""

import asyncio
import logging
from datetime import timedelta
from typing import Any

from django.db.models import Max
from django.utils import timezone

from chat_app import loop
from chat_app.clients.providers import provider_of
from chat_app.imports import imported
from chat_app.loop import submit
from chat_app.models import ModelProfile
from chat_app.tools.toolbox import toolbox
from mockllm_site.kit.database_thread import in_database
from traces_app.leases import end_dead_runs, owner
from traces_app.models import Status, Trace

log = logging.getLogger(__name__)


async def repair() -> None:
    """End the runs whose processes died, now, and once more when the last of the leases that are
    not over yet is: the process that had it may have died a moment ago."""
    await in_database(end_dead_runs)
    left = await in_database(_seconds_left)
    if left is not None:
        submit(_again(left))


async def _again(seconds: float) -> None:
    await asyncio.sleep(seconds)
    try:
        await in_database(end_dead_runs)
    except Exception:
        log.exception("dead runs could not be ended")


def _seconds_left() -> float | None:
    others = Trace.objects.filter(status=Status.RUNNING).exclude(owner=owner())
    last = others.aggregate(last=Max("lease_until"))["last"]
    return None if last is None else max((last - timezone.now()) / timedelta(seconds=1), 0.0) + 0.1


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
