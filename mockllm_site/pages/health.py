"""The health and readiness endpoints, which need no other page's modules."""

import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.db import DEFAULT_DB_ALIAS, connections
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from scenarios_app.catalog import catalog
from scenarios_app.cluster import redis_connections
from scenarios_app.journal import journal
from scenarios_app.models import CatalogVersion
from scenarios_app.serving.services import play_built_in, services

log = logging.getLogger(__name__)

DATABASE_SECONDS = 5.0
# Room for a few pages of a SQLite file.
MIN_FREE_BYTES = 262_144


@require_safe
@never_cache
async def livez(request: HttpRequest) -> JsonResponse:
    """Return 200 if a built-in step plays end to end, else 503. The database is not checked, since
    a restarted process would have the same one."""
    return _checks_response({"pipeline": await play_built_in(services().pipeline.options)})


@require_safe
@never_cache
async def healthz(request: HttpRequest) -> JsonResponse:
    """Return 200 if a built-in step plays and the database can be written, else 503."""
    return _checks_response(
        {
            "pipeline": await play_built_in(services().pipeline.options),
            "database": await _database_problem(),
        }
    )


def _checks_response(checks: Mapping[str, str | None]) -> JsonResponse:
    """Return 200 if no check has a problem, else 503, with the result of each."""
    works = not any(checks.values())
    results = {name: problem or "ok" for name, problem in checks.items()}
    status = "ok" if works else "failing"
    return JsonResponse({"status": status, "checks": results}, status=200 if works else 503)


@require_safe
@never_cache
async def readyz(request: HttpRequest) -> JsonResponse:
    """Return 200 if the services are started, not draining, and reach their shared state; else 503.
    Problems of the database or the journal are only reported: providers answer from memory."""
    ready = services().ready
    checks = {"database": catalog.database_problem, "journal": journal.problem}
    if shared := redis_connections():
        checks["state"] = problem = await asyncio.to_thread(shared.problem)
        ready = ready and problem is None
    body = {"ready": ready, "checks": {name: text or "ok" for name, text in checks.items()}}
    headers = {} if ready else {"Retry-After": "1"}
    return JsonResponse(body, status=200 if ready else 503, headers=headers)


async def _database_problem() -> str | None:
    """Return why the database cannot be written within DATABASE_SECONDS, or None. The error is only
    logged, since it may name the database's address.

    On a full disk a small write may still fit into files that are there, so free space and the
    journal's last write count too.
    """
    try:
        async with asyncio.timeout(DATABASE_SECONDS):
            await sync_to_async(CatalogVersion.write)(DEFAULT_DB_ALIAS)
    except TimeoutError:
        return f"no answer within {DATABASE_SECONDS:g} s"
    except Exception as error:
        log.warning("health: the database cannot be written (%s)", error)
        return type(error).__name__
    return _disk_problem(connections[DEFAULT_DB_ALIAS].settings_dict) or journal.problem


def _disk_problem(database: Mapping[str, Any]) -> str | None:
    """Return that the disk of a SQLite file is full, or None, also for other databases."""
    file = Path(str(database["NAME"]))
    if not database["ENGINE"].endswith("sqlite3") or not file.is_file():
        return None
    disk = os.statvfs(file.parent)
    # Some blocks are reserved for root.
    blocks = disk.f_bavail if os.geteuid() else disk.f_bfree
    return "the disk is full" if blocks * disk.f_frsize < MIN_FREE_BYTES else None


urlpatterns = [path("livez", livez), path("healthz", healthz), path("readyz", readyz)]
PATHS = frozenset(f"/{pattern.pattern}" for pattern in urlpatterns)
