"""Shared by the control API's views: access, JSON parsing, shapes, errors and journal rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from mockllm_site.kit.api import errors
from mockllm_site.kit.api import openapi as described
from mockllm_site.kit.api.locality import DOCS, FOREIGN_PAGE, is_foreign, is_open
from mockllm_site.kit.api.openapi import F, Form
from mockllm_site.kit.api.shapes import Flag, JsonField, Shape, Text, Whole
from mockllm_site.kit.api.tokens import bearer_of, matches_token
from mockllm_site.kit.api.views import JsonView
from scenarios_app.catalog.snapshot import can_be_shared
from scenarios_app.control.matches import record_met_conditions, rows_of_coverage_run
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError
from scenarios_app.engine.document.json_text import decode
from scenarios_app.engine.state import StateUnavailable
from scenarios_app.models import Installation, ServedRequest
from scenarios_app.serving.services import services


class SessionQuery(Shape):
    """The session, if only one is meant."""

    session = Text(required=False, help_text="The session's name or API key.")


class RequiredSessionQuery(Shape):
    """The query of a request that must name a session."""

    session = Text(help_text="The session's name or API key.")


# Options of the field of a body that names a session.
ANY_SESSION: Mapping[str, Any] = {
    "required": False,
    "allow_null": True,
    "default": None,
    "help_text": "A session's name or API key; null for every session.",
}


class JournalledBody(Shape):
    """Whether the journal has every request that the answer is about."""

    complete = Flag(help_text="True if the journal has all requests of this report.")
    lost = Whole(help_text="The number of requests that the journal dropped or could not write.")


class StepBody(Shape):
    """A step."""

    scenario = Text(help_text="The scenario's name.")
    step = Text(help_text="The step's name, or its number from 1.")


class MismatchBody(Shape):
    """A condition that does not hold."""

    field = Text(help_text="The key in the step document.")
    expected = Text(allow_blank=True, help_text="The expected value.")
    actual = Text(allow_blank=True, help_text="The actual value.")


class ControlError(errors.ApiError):
    """A control API request that fails, with its status and field."""


def answer_error(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """Return the JSON error response for an exception of a view or its middleware."""
    if isinstance(error, DocumentError):
        return errors.error_response(400, str(error), field=error.place or None)
    if isinstance(error, StateUnavailable):
        return errors.error_response(503, str(error), headers={"Retry-After": "1"})
    return errors.answer_error(error, context)


class Access(BaseAuthentication):
    """Checks the control token; requests have no user."""

    def authenticate(self, request: Request) -> None:
        """Raise PermissionDenied if the API is closed to the request, and AuthenticationFailed if a
        needed token is missing or wrong."""
        if is_foreign(request._request, is_page=request.path.rstrip("/").endswith(DOCS)):
            raise PermissionDenied(FOREIGN_PAGE)
        if is_open(request._request):
            return
        token = settings.MOCKLLM_CONTROL_TOKEN
        if not token:
            raise PermissionDenied(
                "The control API is closed: it is open to this machine alone, where the server is "
                "bound to loopback in dev or test, and to those with MOCKLLM_CONTROL_TOKEN, "
                "which is not set."
            )
        sent_token = bearer_of(request._request)
        if sent_token is None:
            raise AuthenticationFailed(
                "Send the control token (MOCKLLM_CONTROL_TOKEN) as Authorization: Bearer …"
            )
        if not matches_token(sent_token, token):
            raise AuthenticationFailed("This is not the control token.")

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class ControlView(JsonView):
    """One path of the control API."""

    authentication_classes = (Access,)

    def get_exception_handler(self) -> Any:
        return answer_error

    def decode(self, body: bytes) -> Json:
        """Parse JSON as for scenario documents; raise DocumentError, which names the place."""
        return decode(body)


SCENARIO: dict[str, Any] = {"$ref": "#/components/schemas/ScenarioDocument"}
DOCUMENT: Form = {"$ref": "#/components/schemas/Document"}
STEP: Form = {"$ref": "#/components/schemas/StepDocument"}
MATCH: dict[str, Any] = {"$ref": "#/components/schemas/MatchDocument"}

STATUS_DESCRIPTIONS: Mapping[int, str] = {
    400: "Something is wrong with the request; `field` says where.",
    401: "The control token is missing or wrong.",
    403: "The control API is closed here.",
    404: "No object has this name or id.",
    409: "An object of this name exists, or does not allow this.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    500: "The server failed; its log says why.",
    503: "The database does not answer.",
}


def documented(
    operation: str,
    answer: Form | None,
    meaning: str,
    *,
    status: int = 200,
    also: Mapping[int, tuple[Form, str]] | None = None,
    **description: Any,
) -> Callable[[F], F]:
    """Return a decorator that describes a view's method in the OpenAPI document: its answer (None
    for an empty body) and status, `also` others by status, and other fields of `Operation`."""
    answers = {status: (answer, meaning), **(also or {})}
    meanings = STATUS_DESCRIPTIONS
    return described.documented(operation, answers=answers, meanings=meanings, **description)


class Texts(serializers.ListField):
    """A list of texts."""

    child = Text()


class ScenarioField(JsonField):
    """A scenario document."""

    form = SCENARIO


class MatchField(JsonField):
    """Conditions on a request, as a step has them."""

    form = MATCH


def flush_journal() -> None:
    """Wait until every ended request is in the journal; raise ControlError 503 if that is slow."""
    if not services().cluster.flush():
        raise ControlError(503, "The journal is behind; try again.")


def journal_completeness(session: str | None) -> dict[str, Any]:
    """Return `complete` and `lost` for the journal of a session, or of all sessions. `lost` counts
    the rows that running processes could not write. A process that was killed may have lost more,
    so sessions with requests from before that moment are not complete."""
    lost = services().cluster.count_lost_rows(session)
    return {"complete": lost == 0 and not _has_rows_before_unclean_end(session), "lost": lost}


def _has_rows_before_unclean_end(session: str | None) -> bool:
    """Return True if a session has rows of a process that ended before it stored all."""
    # An in-memory database ends with its process, so no earlier process can have used it.
    if not can_be_shared():
        return False
    ended_at = Installation.objects.values_list("unclean_end_at", flat=True).first()
    return ended_at is not None and rows_of_session(session).filter(at__lte=ended_at).exists()


def delete_journal_rows(sessions: Sequence[str] | None) -> None:
    """Delete the journal rows of sessions, or all rows, and reset their counts of lost rows.
    Conditions that the deleted requests met are recorded for the run's coverage first."""
    rows = rows_of_session(None)
    if sessions is not None:
        rows = rows.filter(session__in=sessions)
    record_met_conditions(rows)
    deleted_of_run, _ = rows_of_coverage_run(rows).delete()
    rows.delete()
    services().steps.count_observed(deleted_of_run)
    services().cluster.forget_losses(sessions)


def rows_of_session(session: str | None) -> QuerySet[ServedRequest]:
    """Return the journal rows of a session, or all, in the order in which answers ended."""
    rows = ServedRequest.objects.order_by("pk")
    return rows if session is None else rows.filter(session=session)
