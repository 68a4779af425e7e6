"""Who else is at a scenario's page: each open page says so every few seconds, and is told."""

from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from scenarios_app.models import AnyScenario, Presence

# So often a page says that it is open; after so long without a word somebody has left.
EVERY = timedelta(seconds=8)
GONE = timedelta(seconds=25)
# At this status htmx shows the answer and asks no more.
NO_MORE = 286


def here_page(request: HttpRequest, scenario: AnyScenario) -> HttpResponse:
    """Note that the user is here, and name the others, as a piece of the page."""
    page = f"{scenario._meta.model_name}/{scenario.pk}"
    if request.method == "POST":
        note(page, request.user)
    context = {"others": others_at(page, request.user)}
    return TemplateResponse(request, "scenarios_app/admin/here.html", context)


def gone_page(request: HttpRequest) -> HttpResponse:
    """Say that what the page shows is there no more, and that it need not ask again."""
    return TemplateResponse(
        request, "scenarios_app/admin/here.html", {"gone": True}, status=NO_MORE
    )


def note(page: str, user: Any) -> None:
    now = timezone.now()
    Presence.objects.filter(at__lt=now - GONE).delete()
    Presence.objects.update_or_create(page=page, user=user, defaults={"at": now})


def others_at(page: str, user: Any) -> list[str]:
    """Their names, without the user's own."""
    rows = Presence.objects.filter(page=page, at__gte=timezone.now() - GONE).exclude(user=user)
    return sorted(str(row.user) for row in rows.select_related("user"))
