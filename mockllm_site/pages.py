"""Whether it works: the health, the readiness and the figures of the process."""

import asyncio

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client.exposition import choose_encoder

from mockllm_site.api.tokens import bearer_of, is_token
from mockllm_site.metrics import registry
from scenarios_app.serving.health import play_built_in
from scenarios_app.serving.services import services
from scenarios_app.snapshot import catalog_number

DATABASE_SECONDS = 5.0
PLAIN = "text/plain; charset=utf-8"


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


@require_safe
@never_cache
async def metrics(request: HttpRequest) -> HttpResponse:
    """The figures, in the form that whoever asks takes; in prod for those who have the token."""
    if settings.MOCKLLM_ENV == "prod" and (refused := _without_token(request)):
        return refused
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(registry()), content_type=content_type)


def _without_token(request: HttpRequest) -> HttpResponse | None:
    token = settings.MOCKLLM_METRICS_TOKEN
    if not token:
        message = "/metrics is closed: in prod it needs MOCKLLM_METRICS_TOKEN, which is not set.\n"
        return HttpResponse(message, status=403, content_type=PLAIN)
    if is_token(bearer_of(request) or "", token):
        return None
    message = "Send the metrics token (MOCKLLM_METRICS_TOKEN) as Authorization: Bearer …\n"
    headers = {"WWW-Authenticate": "Bearer"}
    return HttpResponse(message, status=401, content_type=PLAIN, headers=headers)


async def _ask() -> str | None:
    try:
        async with asyncio.timeout(DATABASE_SECONDS):
            await sync_to_async(catalog_number)()
    except TimeoutError:
        return f"no answer within {DATABASE_SECONDS:g} s"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
