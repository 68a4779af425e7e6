"""Start of a process: ends runs of dead processes, imports pages and the SDKs of profiles and opens
their MCP servers, so that the first page and message need not wait."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final

from chat_app import loop
from chat_app.clients.providers import provider_of
from chat_app.models import DEFAULT_PROFILE, ModelProfile
from chat_app.tools.toolbox import MCP_MODULE, Names, toolbox
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


def warm_up(pages: Sequence[str]) -> None:
    """Start `_warm_up` in the background; a stop of the chat's loop cancels it."""
    loop.register_drain(_cancel_warm_up)
    loop.submit(_warm_up(pages))


async def _warm_up(pages: Sequence[str]) -> None:
    """Import the modules of pages, then what profiles need, the default profile's SDK and MCP
    servers first. Failures are logged only."""
    task = asyncio.current_task()
    assert task is not None
    _tasks.add(task)
    try:
        for module in pages:
            await import_in_thread(module, gently=True)
        async with asyncio.TaskGroup() as opening:
            for module, servers in await in_database(_needs_of_profiles):
                if servers:
                    await _import_sdk(MCP_MODULE)
                    # They start while SDKs are imported.
                    opening.create_task(toolbox().available_tools(servers))
                await _import_sdk(module)
    except Exception:
        log.exception("the warm-up of pages and chat failed")
    finally:
        _tasks.discard(task)


async def _import_sdk(module: str) -> None:
    """Import a module that needs an SDK, if that is installed."""
    try:
        await import_in_thread(module, gently=True)
    except ImportError as error:
        # A shipped profile may need an extra that nobody wants; a run of it says so.
        log.debug("%s cannot be imported: %s", module, error)


def _needs_of_profiles() -> list[tuple[str, Names]]:
    """Return the SDK's module and the MCP servers of profiles, the default profile's first."""
    rows = ModelProfile.objects.values_list("name", "provider_id", "mcp_servers")
    needs: list[tuple[str, Names]] = []
    for _, provider_id, servers in sorted(rows, key=lambda row: (row[0] != DEFAULT_PROFILE, row)):
        # Fixtures may store anything in a profile.
        names = servers if isinstance(servers, list) else []
        servers = tuple(name for name in names if isinstance(name, str))
        needs.append((provider_of(provider_id).family.first_import, servers))
    return needs


async def _cancel_warm_up(seconds: float) -> None:
    """Cancel the warm-up when the loop stops. A drain gets `seconds`, which are not used here."""
    for task in _tasks:
        task.cancel()
    await asyncio.gather(*_tasks, return_exceptions=True)
