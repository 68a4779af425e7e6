"""Whether it works: the health and the readiness of the process."""

import asyncio

from asgiref.sync import sync_to_async
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from scenarios_app.serving.health import play_built_in
from scenarios_app.serving.services import services
from scenarios_app.snapshot import catalog_number

DATABASE_SECONDS = 5.0


@require_safe
@never_cache
async def healthz(request: HttpRequest) -> JsonResponse:
    """Plays one built-in step from end to end and asks the database; 503 names what fails."""
    checks = {
        "pipeline": await play_built_in(services().pipeline.options),
        "database": await _ask(),
    }
    works = not any(checks.values())
    shown = {name: problem or "ok" for name, problem in checks.items()}
    status = "ok" if works else "failing"
    return JsonResponse({"status": status, "checks": shown}, status=200 if works else 503)


@require_safe
@never_cache
async def readyz(request: HttpRequest) -> JsonResponse:
    """Whether the scenarios are loaded, and the server not about to stop."""
    ready = services().ready
    return JsonResponse({"ready": ready}, status=200 if ready else 503)


async def _ask() -> str | None:
    try:
        async with asyncio.timeout(DATABASE_SECONDS):
            await sync_to_async(catalog_number)()
    except TimeoutError:
        return f"no answer within {DATABASE_SECONDS:g} s"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
