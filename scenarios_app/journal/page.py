"""The page on which the journal is watched as it grows."""

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from scenarios_app.journal import journal
from scenarios_app.journal.live import PERMISSION


@require_safe
@never_cache
@login_required
def journal_page(request: HttpRequest) -> HttpResponse:
    """Its rows come over a WebSocket."""
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    return render(request, "scenarios_app/journal.html", {"lost": journal.losses.told(None)})
