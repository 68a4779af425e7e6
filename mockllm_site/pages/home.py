"""The home page, and the template tags for the header of every page."""

from dataclasses import dataclass
from typing import Any

from django import template
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import is_valid_path
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from mockllm_site import __version__
from mockllm_site.kit.api.locality import is_open
from mockllm_site.kit.permissions import without_role
from mockllm_site.pages import docs
from scenarios_app.journal.coverage import count_requests_since, coverage
from scenarios_app.models import Scenario
from scenarios_app.wire.registry import wires_by_name
from scenarios_app.wire.samples import SdkSetup

# Links of the home page with their descriptions; those that are not installed are left out.
LINKS = (
    ("/admin/", "Scenarios, sessions and the journal: everything QA edits"),
    ("/chat/", "A playground to talk to models, scripted or real"),
    ("/chat/leaderboard/", "Who wins when answers are compared"),
    ("/journal/", "Requests as they arrive"),
    ("/docs/", "The documentation"),
    ("/control/docs/", "The control API, documented"),
    ("/api/docs/", "The chat API, documented"),
    ("/control/schema/scenario.json", "The JSON Schema of scenario documents"),
    ("/healthz", "Health check of scripted answers and the database"),
    ("/livez", "Health check of scripted answers alone"),
    ("/readyz", "Readiness check: can this server take requests?"),
    ("/metrics", "Metrics for Prometheus"),
)
# Maximum number of listed scenarios with unused steps.
MAX_UNUSED_SHOWN = 8
# Links in the header of every page.
PAGES = (
    ("Playground", "/chat/"),
    ("Leaderboard", "/chat/leaderboard/"),
    ("Journal", "/journal/"),
    ("Admin", "/admin/"),
    ("Docs", docs.ROOT),
)

register = template.Library()


@require_safe
@never_cache
def home(request: HttpRequest) -> HttpResponse:
    """Show the home page; its traffic only to this machine in dev and test, and to logins."""
    origin = request.build_absolute_uri("/").removesuffix("/")
    context: dict[str, Any] = {
        "version": __version__,
        "mode": settings.MOCKLLM_ENV,
        # The admin's host has no provider routes.
        "clients": [] if settings.MOCKLLM_ADMIN_HOST else sdk_setups(origin),
        "control": control_access(request),
        "addresses": [(path, meaning) for path, meaning in LINKS if is_valid_path(path)],
    }
    if is_open(request) or request.user.is_authenticated:
        today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
        step_coverage = coverage()
        context |= {
            "scenarios": Scenario.objects.filter(enabled=True).count(),
            "traffic": count_requests_since(today),
            "coverage": step_coverage,
            "unserved": step_coverage.unserved[:MAX_UNUSED_SHOWN],
            "more": max(len(step_coverage.unserved) - MAX_UNUSED_SHOWN, 0),
        }
    return render(request, "mockllm_site/home.html", context)


def control_access(request: HttpRequest) -> str:
    """Return a sentence on what programs need to use the control API."""
    if is_open(request):
        return (
            "The control API is open to this machine: programs here may read and change scenarios, "
            "sessions and the journal without a token. Other machines need MOCKLLM_CONTROL_TOKEN."
        )
    if settings.MOCKLLM_CONTROL_TOKEN:
        return (
            "The control API needs the token MOCKLLM_CONTROL_TOKEN, "
            "sent as “Authorization: Bearer …”."
        )
    return "The control API is closed here: set MOCKLLM_CONTROL_TOKEN to use it with a token."


def sdk_setups(origin: str) -> list[SdkSetup]:
    """Return the setups of all providers' SDKs for a server at `origin`."""
    return [sdk for wire in wires_by_name().values() for sdk in wire.sdk_setups(origin)]


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link in the header of a page."""

    name: str
    path: str
    is_current: bool


@register.simple_tag(takes_context=True)
def page_links(context: dict[str, Any]) -> list[PageLink]:
    """Return the links of PAGES that this server has; `is_current` marks the shown page."""
    request = context.get("request")
    path = request.path if request else ""
    # The longest path wins: /chat/leaderboard/ over /chat/.
    current = max((url for _, url in PAGES if path.startswith(url)), key=len, default="")
    return [PageLink(name, url, url == current) for name, url in PAGES if is_valid_path(url)]


@register.simple_tag(takes_context=True)
def help_link(context: dict[str, Any]) -> str:
    """Return the URL of the docs page that explains the shown page."""
    request = context.get("request")
    return docs.help_url(request.path if request else "")


@register.simple_tag
def role_notice(user: Any) -> str:
    """Return the notice for a logged-in user without a role, "" for other users."""
    return without_role(user) if user.is_authenticated else ""
