"""Shows who else has the page of a scenario open."""

from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from scenarios_app.models import AnyScenario, Presence

# How often an open page reports itself, and after how long without a report it counts as closed.
HEARTBEAT = timedelta(seconds=8)
PRESENCE_TIMEOUT = timedelta(seconds=25)
# At this status htmx shows the response and stops polling.
STOP_POLLING_STATUS = 286


def presence_page(request: HttpRequest, scenario: AnyScenario | None) -> HttpResponse:
    """Return the other users who have the page open as an HTML fragment; a post also records this
    user. Without a scenario the fragment says that it is deleted, and stops the polling."""
    template = "scenarios_app/admin/here.html"
    if scenario is None:
        return TemplateResponse(request, template, {"gone": True}, status=STOP_POLLING_STATUS)
    page = f"{scenario._meta.model_name}/{scenario.pk}"
    user: Any = request.user
    now = timezone.now()
    closed_before = now - PRESENCE_TIMEOUT
    if request.method == "POST":
        Presence.objects.filter(at__lt=closed_before).delete()
        Presence.objects.update_or_create(page=page, user=user, defaults={"at": now})
    rows = Presence.objects.filter(page=page, at__gte=closed_before).exclude(user=user)
    others = sorted(str(row.user) for row in rows.select_related("user"))
    return TemplateResponse(request, template, {"others": others})
