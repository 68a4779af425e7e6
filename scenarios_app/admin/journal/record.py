"""The *Record* button of sessions: what the providers answer becomes a draft."""

from dataclasses import dataclass

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from scenarios_app.control.kit import ControlError
from scenarios_app.control.recorder import SHARED, begin, end
from scenarios_app.engine.document import load_documents
from scenarios_app.serving.recorder.recordings import Recording
from scenarios_app.serving.services import services
from scenarios_app.store.drafts import NAME_LENGTH, drafted
from scenarios_app.store.rows import limits

ALL = "all sessions"


@dataclass(frozen=True, slots=True)
class Button:
    """What a page says of recording a session, or all where `name` is None; `refused` says why
    this server records nothing."""

    name: str | None
    recording: Recording | None
    upstreams: tuple[tuple[str, str], ...]
    refused: str


def button(name: str | None) -> Button:
    pipeline = services().pipeline
    upstreams = tuple(pipeline.options.upstreams.items())
    refused = "" if services().everywhere.alone else SHARED
    return Button(name, pipeline.recordings.get(name), upstreams, refused)


def may_record(request: HttpRequest) -> bool:
    """Who records makes a draft, and spends what the clients' keys may spend."""
    return request.user.has_perms(("scenarios_app.add_scenario", "scenarios_app.change_scenario"))


@require_POST
def record(request: HttpRequest) -> HttpResponse:
    """Begin to record one session, or all when no name is given; or end it and go to its draft."""
    if not may_record(request):
        raise PermissionDenied
    name = request.POST.get("name")
    shown = ALL if name is None else f"session “{name}”"
    try:
        if "end" in request.POST:
            return _ended(request, name, shown)
        title = f"Recording of {ALL if name is None else name}"[:NAME_LENGTH]
        begin(Recording(name, "all", title))
    except ControlError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"Recording {shown}: what no step answers is asked upstream.")
    return redirect(_page(name))


def _ended(request: HttpRequest, name: str | None, shown: str) -> HttpResponse:
    _, came = end(name)
    for told in (*came.problems, *came.notes):
        messages.warning(request, told)
    if came.document is None or not came.document["steps"]:
        messages.warning(request, f"Nothing of {shown} was recorded, so there is no draft.")
        return redirect(_page(name))
    (document,) = load_documents(came.document, limits=limits())
    draft = drafted(document)
    steps = len(document.steps)
    told = f"{steps} step{'' if steps == 1 else 's'} recorded. Nothing answers from a draft yet."
    messages.success(request, told)
    return redirect("admin:scenarios_app_draft_change", draft.pk)


def _page(name: str | None) -> str:
    return reverse("admin:scenarios_app_sessions") if name is None else session_url(name)


def session_url(name: str) -> str:
    """The page of one session; a name may be any text, so it is no part of the path."""
    return f"{reverse('admin:scenarios_app_session')}?{urlencode({'name': name})}"
