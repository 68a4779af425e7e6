"""The pages that are nobody's in particular: what is here, and whether it works."""

import asyncio

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import is_valid_path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from mockllm_site import __version__
from scenarios_app.serving.health import play_built_in
from scenarios_app.serving.services import services
from scenarios_app.snapshot import catalog_number

# What may be here, and what it is for; a page that this installation lacks is not shown.
PLACES = (
    ("/admin/", "Scenarios, sessions and the journal: everything QA edits"),
    ("/chat/", "A playground to talk to models, scripted or real"),
    ("/journal/", "The requests as they come in"),
    ("/control/docs/", "The control API, documented"),
    ("/control/schema/scenario.json", "The JSON Schema of scenario documents"),
    ("/healthz", "Whether a scripted answer and the database work"),
    ("/readyz", "Whether new requests are welcome"),
    ("/metrics", "Figures for Prometheus"),
)
DATABASE_SECONDS = 5.0


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """What is here, with links, and how to point an SDK at it."""
    origin = request.build_absolute_uri("/").removesuffix("/")
    context = {
        "version": __version__,
        "mode": settings.MOCKLLM_ENV,
        "openai_base_url": f"{origin}/v1",
        "anthropic_base_url": origin,
        "places": [(path, meaning) for path, meaning in PLACES if is_valid_path(path)],
    }
    return render(request, "mockllm_site/index.html", context)


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
