"""The first page: what is here, how to point an SDK at it, and what was asked today; and the links
at the top of every page."""

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
from mockllm_site.pages import docs
from scenarios_app.journal.coverage import coverage, traffic_since
from scenarios_app.models import Scenario
from scenarios_app.wire.registry import wires_by_name
from scenarios_app.wire.samples import SdkSetup

# What may be here, and what it is for; a page that this installation lacks is not shown.
LINKS = (
    ("/admin/", "Scenarios, sessions and the journal: everything QA edits"),
    ("/chat/", "A playground to talk to models, scripted or real"),
    ("/chat/leaderboard/", "Who wins when answers are compared"),
    ("/journal/", "The requests as they come in"),
    ("/docs/", "The documentation"),
    ("/control/docs/", "The control API, documented"),
    ("/api/docs/", "The chat API, documented"),
    ("/control/schema/scenario.json", "The JSON Schema of scenario documents"),
    ("/healthz", "Whether a scripted answer and the database work"),
    ("/livez", "Whether a scripted answer works"),
    ("/readyz", "Whether new requests are welcome"),
    ("/metrics", "Figures for Prometheus"),
)
# As many scenarios with unserved steps are named.
SHOWN = 8
# Those that every page has a link to, where they are here.
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
    """Open to everybody; what was asked here is told to this machine in dev and test,
    and to those who are logged in."""
    origin = request.build_absolute_uri("/").removesuffix("/")
    context: dict[str, Any] = {
        "version": __version__,
        "mode": settings.MOCKLLM_ENV,
        "clients": clients(origin),
        "control": control_access(request),
        "addresses": [(path, meaning) for path, meaning in LINKS if is_valid_path(path)],
    }
    if is_open(request) or request.user.is_authenticated:
        today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
        found = coverage()
        context |= {
            "scenarios": Scenario.objects.filter(enabled=True).count(),
            "traffic": traffic_since(today),
            "coverage": found,
            "unserved": found.unserved[:SHOWN],
            "more": max(len(found.unserved) - SHOWN, 0),
        }
    return render(request, "mockllm_site/home.html", context)


def control_access(request: HttpRequest) -> str:
    """Say what a program needs to use the control API from where this request comes from."""
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


def clients(origin: str) -> list[SdkSetup]:
    """Each provider's own SDK, with the address that it wants."""
    return [sdk for wire in wires_by_name().values() for sdk in wire.clients(origin)]


@dataclass(frozen=True, slots=True)
class Link:
    name: str
    path: str
    here: bool


@register.simple_tag(takes_context=True)
def page_links(context: dict[str, Any]) -> list[Link]:
    """The pages that this installation has; `here` is the one that is shown."""
    request = context.get("request")
    path = request.path if request else ""
    # Of a page and one below it, the one below.
    here = max((url for _, url in PAGES if path.startswith(url)), key=len, default="")
    return [Link(name, url, url == here) for name, url in PAGES if is_valid_path(url)]


@register.simple_tag(takes_context=True)
def help_link(context: dict[str, Any]) -> str:
    """The page of the docs that explains the page that is shown."""
    request = context.get("request")
    return docs.help_url(request.path if request else "")
