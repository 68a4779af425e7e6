"""*Record* on the pages of sessions: forwards unmatched requests to providers and saves the
responses as a draft."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.contrib import messages
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from mockllm_site.kit import env
from mockllm_site.kit.permissions import require_permissions
from scenarios_app.control.kit import ControlError
from scenarios_app.control.recording import SHARED_STATE_ERROR, end_recording, start_recording
from scenarios_app.engine.document import load_documents
from scenarios_app.recording.upstreams import official_upstreams
from scenarios_app.serving.recorder.recordings import Recording
from scenarios_app.serving.services import services
from scenarios_app.store import limits
from scenarios_app.store.drafts import NAME_LENGTH, create_draft
from scenarios_app.wire.upstreams import upstreams

ALL_SESSIONS: Final = "all sessions"
# A forgotten recording stops after this time, because it spends money of the clients.
MAX_RECORD_SECONDS: Final = 3_600
RECORD: Final = ("scenarios_app.add_scenario", "scenarios_app.change_scenario")
SET_UP: Final = "scenarios_app.set_up_recording"
CLIENTS_KEY, SERVERS_KEY = "client", "server"


@dataclass(frozen=True, slots=True)
class UpstreamChoice:
    """A provider to record from. `variable` names the variable with this server's key, or is "".
    `named_by_operator` is true if the provider is in MOCKLLM_UPSTREAMS."""

    name: str
    url: str
    variable: str
    named_by_operator: bool


@dataclass(frozen=True, slots=True)
class RecordPanel:
    """The recording of one session, or of all if `name` is None.

    `refused` says why this server cannot record, "" if it can. `upstreams` are provider and address
    of MOCKLLM_UPSTREAMS. `choices` is empty for users who may not choose; `permission_helps` is
    true if they could choose with the permission.
    """

    name: str | None
    recording: Recording | None
    upstreams: tuple[tuple[str, str], ...]
    refused: str
    choices: tuple[UpstreamChoice, ...]
    permission_helps: bool

    @property
    def goes_to(self) -> list[tuple[str, str, str]]:
        """The upstreams of the recording: provider, address, and whose key is used."""
        if self.recording is None:
            return []
        keys, named = self.recording.keys, self.recording.upstreams or dict(self.upstreams)
        return [
            (name, url, "this server’s key" if keys.get(name) else "the client’s key")
            for name, url in named.items()
        ]

    @property
    def ends_at(self) -> datetime | None:
        """When the recording ends, or None without a limit."""
        if self.recording is None or self.recording.ends_at is None:
            return None
        return timezone.now() + timedelta(seconds=self.recording.ends_at - time.monotonic())

    @property
    def is_over(self) -> bool:
        """True if the recording has reached its time limit."""
        return self.recording is not None and self.recording.is_over(time.monotonic())


def record_panel(request: HttpRequest, name: str | None) -> RecordPanel:
    """Return the panel of a session's recording, with what this user may choose."""
    pipeline = services().pipeline
    upstreams = tuple(pipeline.options.upstreams.items())
    refused = "" if services().cluster.is_single_process else SHARED_STATE_ERROR
    every, may_choose = record_choices(), may_record(request) and request.user.has_perm(SET_UP)
    recording, choices = pipeline.recordings.get(name), every if may_choose else ()
    return RecordPanel(name, recording, upstreams, refused, choices, bool(every))


def may_record(request: HttpRequest) -> bool:
    """Return whether the user may record, which makes a draft and spends the clients' keys."""
    return request.user.has_perms(RECORD)


def record_choices() -> tuple[UpstreamChoice, ...]:
    """Return the providers that may be chosen: those of MOCKLLM_UPSTREAMS, and in dev mode every
    known provider at its official address. An address never comes from a form."""
    named = services().pipeline.options.upstreams
    is_dev = getattr(settings, "MOCKLLM_ENV", "prod") == "dev"
    urls = {**(official_upstreams() if is_dev else {}), **named}
    return tuple(
        UpstreamChoice(name, url, _key_variable(name, url), name in named)
        for name, url in urls.items()
    )


def _key_variable(name: str, url: str) -> str:
    """Return the first variable of this server's environment with a provider's key; "" if none has
    one, or if `url` is not the provider's official address, to which no key is sent."""
    upstream = upstreams().get(name)
    if upstream is None or url != upstream.base_url:
        return ""
    variables = env.variables()
    return next(
        (variable for variable in upstream.key_variables if variables.get(variable, "").strip()), ""
    )


def _chosen_upstreams(form: QueryDict) -> tuple[dict[str, str], dict[str, str]]:
    """Return the chosen upstreams, and the key for each; "" stands for the client's own key.

    Raises ControlError for a choice that is not allowed.
    """
    choices = {choice.name: choice for choice in record_choices()}
    upstreams: dict[str, str] = {}
    keys: dict[str, str] = {}
    for name in form.getlist("upstream"):
        choice = choices.get(name)
        if choice is None:
            raise ControlError(400, f"This server cannot record from “{name}”.")
        with_own_key = form.get(f"key-{name}") == SERVERS_KEY
        if with_own_key and not choice.variable:
            raise ControlError(
                400, f"This server has no key for {name}: choose the client's own key."
            )
        upstreams[name] = choice.url
        keys[name] = env.variables()[choice.variable].strip() if with_own_key else ""
    if not upstreams:
        raise ControlError(400, "Choose at least one provider to record from.")
    return upstreams, keys


@require_POST
def record(request: HttpRequest) -> HttpResponse:
    """Start recording the posted session, or all without a name; with `end` stop, and redirect to
    the draft of the recording. Raises MissingPermission."""
    require_permissions(request, *RECORD)
    name = request.POST.get("name")
    subject = ALL_SESSIONS if name is None else f"session “{name}”"
    try:
        if "end" in request.POST:
            return _end_and_create_draft(request, name, subject)
        _start_from_form(request, name)
    except ControlError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"Recording {subject}: unmatched requests are sent upstream.")
    return redirect(_record_page(name))


def _start_from_form(request: HttpRequest, name: str | None) -> None:
    """Start the recording that the form describes. Raises ControlError and MissingPermission."""
    upstreams: Mapping[str, str] = {}
    keys: Mapping[str, str] = {}
    if "choose" in request.POST:
        require_permissions(request, SET_UP)
        upstreams, keys = _chosen_upstreams(request.POST)
    title = f"Recording of {ALL_SESSIONS if name is None else name}"[:NAME_LENGTH]
    ends_at = time.monotonic() + MAX_RECORD_SECONDS
    start_recording(Recording(name, "all", title, keys, upstreams=upstreams, ends_at=ends_at))


def _end_and_create_draft(request: HttpRequest, name: str | None, subject: str) -> HttpResponse:
    """End the recording and redirect to a new draft of it, or to the record page if it is empty.
    Raises ControlError, and DatabaseError, after which the recording goes on."""
    recording, ended = end_recording(name)
    for message in (*ended["problems"], *ended["notes"]):
        messages.warning(request, message)
    if not (ended["document"] and ended["document"]["steps"]):
        messages.warning(request, f"No answers of {subject} were recorded: no draft was created.")
        return redirect(_record_page(name))
    (document,) = load_documents(ended["document"], limits=limits())
    try:
        draft = create_draft(document)
    except DatabaseError:
        # The recorded requests were paid for, so the recording goes on until a draft can be stored.
        services().pipeline.recordings.setdefault(recording.session, recording)
        raise
    steps = len(document.steps)
    recorded = f"{steps} step{'' if steps == 1 else 's'} recorded."
    messages.success(request, f"{recorded} The draft answers no requests until you publish it.")
    return redirect("admin:scenarios_app_draft_change", draft.pk)


def _record_page(name: str | None) -> str:
    """Return the URL of the page with the recording's panel."""
    return reverse("admin:scenarios_app_sessions") if name is None else session_url(name)


def session_url(name: str) -> str:
    """Return the address of a session's page. A name may be any text, so it is in the query."""
    return f"{reverse('admin:scenarios_app_session')}?{urlencode({'name': name})}"
