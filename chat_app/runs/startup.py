"""Start of a process: ends runs of dead processes, imports the SDKs of profiles and opens their MCP
servers, so that the first message need not wait."""

import asyncio
import logging
from typing import Any, Final

from chat_app import loop
from chat_app.clients.providers import provider_of
from chat_app.models import ModelProfile
from chat_app.tools.toolbox import MCP_MODULE, toolbox
from mockllm_site.kit.database_thread import in_database
from mockllm_site.kit.imports import import_in_thread
from traces_app.leases import current_owner, end_dead_runs, lease_watch
from traces_app.models import Status, Trace

log = logging.getLogger(__name__)

# Waited in addition to a lease's time, so that it has expired by then.
EXTRA_SECONDS: Final = 0.1


async def end_dead_runs_at_start() -> None:
    """End the runs of dead processes, and again after the time of a lease. Only then can the leases
    of processes on other machines be known to have expired."""
    await in_database(end_dead_runs)
    others = Trace.objects.filter(status=Status.RUNNING).exclude(owner=current_owner())
    if await in_database(others.exists):
        loop.submit(_end_dead_runs_later())


async def _end_dead_runs_later() -> None:
    """End dead runs after the time of a lease; errors are logged."""
    await asyncio.sleep(lease_watch.seconds + EXTRA_SECONDS)
    try:
        await in_database(end_dead_runs)
    except Exception:
        log.exception("dead runs could not be ended")


_tasks: set["asyncio.Task[Any]"] = set()


def warm_up() -> None:
    """Start `_warm_up` in the background; a stop of the chat's loop cancels it."""
    loop.register_drain(_cancel_warm_up)
    loop.submit(_warm_up())


async def _warm_up() -> None:
    """Import the SDKs and open the MCP servers that profiles need; failures are logged only."""
    task = asyncio.current_task()
    assert task is not None
    _tasks.add(task)
    try:
        modules, servers = await in_database(_needed_modules_and_servers)
        for module in modules:
            try:
                await import_in_thread(module, gently=True)
            except ImportError as error:
                # A shipped profile may need an extra that nobody wants; a run of it says so.
                log.debug("%s cannot be imported: %s", module, error)
        await toolbox().available_tools(servers)
    except Exception:
        log.exception("the chat could not be warmed up")
    finally:
        _tasks.discard(task)


def _needed_modules_and_servers() -> tuple[list[str], list[str]]:
    """Return the modules and the MCP servers that profiles need."""
    profiles = ModelProfile.objects.values_list("provider_id", "mcp_servers")
    modules = {provider_of(provider_id).family.first_import for provider_id, _ in profiles}
    # Fixtures may store anything in a profile.
    servers = {
        name
        for _, names in profiles
        if isinstance(names, list)
        for name in names
        if isinstance(name, str)
    }
    if servers:
        modules.add(MCP_MODULE)
    return sorted(modules), sorted(servers)


async def _cancel_warm_up(seconds: float) -> None:
    """Cancel the warm-up when the loop stops. A drain gets `seconds`, which are not used here."""
    for task in _tasks:
        task.cancel()
    await asyncio.gather(*_tasks, return_exceptions=True)
