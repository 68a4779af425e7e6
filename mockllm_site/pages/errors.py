"""Django's own error responses: as a provider sends them, as JSON or as a page, by path."""

import sys
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, Permission
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views import defaults

from mockllm_site.kit.api.errors import (
    API_PREFIXES,
    DATABASE_FAILURES,
    DATABASE_UNAVAILABLE,
    error_response,
)
from mockllm_site.kit.client_address import cool_off
from mockllm_site.kit.permissions import missing_permissions, names_of_managers
from mockllm_site.middleware.pages import PageMiddleware
from mockllm_site.middleware.provider_requests import is_provider_request
from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.serving.transports.django import refusal


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Return the 400 for a malformed request, such as one with an unknown Host header."""
    api_error = _api_error(request, 400, "The request is malformed.")
    return api_error or defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Return a 403 that names the missing permission; staff see who has it and can grant it."""
    api_error = _api_error(request, 403, "You may not do this.")
    if api_error is not None:
        return api_error
    context = _refusal_context(request, missing_permissions(request, exception))
    return render(request, "403.html", context, status=403)


def _refusal_context(request: HttpRequest, missing: Sequence[str]) -> dict[str, Any]:
    """Return the context of the 403 page; only staff see roles and accounts."""
    if not (request.user.is_active and request.user.is_staff):
        # Names of accounts and groups are shown only to staff, who see them in the admin anyway.
        return {"permissions": [(_permission_title(name), ()) for name in missing]}
    permissions = [(_permission_title(name), _roles_with(name)) for name in missing]
    return {"permissions": permissions, "managers": names_of_managers()}


def _permission_title(permission: str) -> str:
    """Return the permission's name as the admin's pages of users and groups show it."""
    return str(_permission_rows(permission).values_list("name", flat=True).first() or permission)


def _roles_with(permission: str) -> list[str]:
    """Return the names of the first groups with a permission."""
    groups = Group.objects.filter(permissions__in=_permission_rows(permission))
    return list(groups.order_by("name").values_list("name", flat=True)[:ROLES_SHOWN])


def _permission_rows(permission: str) -> QuerySet[Permission]:
    label, _, codename = permission.partition(".")
    return Permission.objects.filter(content_type__app_label=label, codename=codename)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Return the 404 for an unknown path."""
    api_error = _api_error(request, 404, f"There is no {request.path}.")
    return api_error or defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponseBase:
    """Return a 503 if the database failed (away, locked, disk full), else a 500."""
    if isinstance(sys.exc_info()[1], DATABASE_FAILURES):
        api_error = _api_error(request, 503, DATABASE_UNAVAILABLE)
        return api_error or render(request, "503.html", status=503)
    api_error = _api_error(request, 500, "The server failed; its log says why.")
    return api_error or defaults.server_error(request)


def _api_error(request: HttpRequest, status: int, message: str) -> HttpResponseBase | None:
    """Return the error as a provider or an API sends it, or None for the path of a page."""
    if is_provider_request(request):
        return refusal(request, ErrorAnswer(status, message))
    if request.path.startswith(API_PREFIXES):
        return error_response(status, message)
    return None


TOO_MANY_REQUESTS = 429
ROLES_SHOWN = 3


def locked_out(request: HttpRequest, response: object, credentials: Any) -> HttpResponse:
    """Return the 429 after failed logins, alike for existing and unknown user names."""
    wait = cool_off(request)
    answer = render(
        request,
        "mockllm_site/locked_out.html",
        {"wrong": settings.AXES_FAILURE_LIMIT, "minutes": round(wait.total_seconds() / 60)},
        status=TOO_MANY_REQUESTS,
    )
    answer.headers["Retry-After"] = str(round(wait.total_seconds()))
    return answer


MESSAGES = {400: "The request is malformed: its Host header or its address is not one of ours."}


class CompleteErrors(PageMiddleware):
    """Makes errors below API_PREFIXES JSON, and gives a 405 a page."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        return _complete_error(request, response)

    def waits(self, request: HttpRequest, response: HttpResponseBase) -> bool:
        """Return True for a 405, whose page is rendered."""
        return response.status_code == 405


def _complete_error(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Return an API's error as JSON, a page's 405 with a page, any other response unchanged."""
    status = response.status_code
    path = request.path_info
    if status == 405 and not path.startswith(API_PREFIXES):
        return _explain_wrong_method(request, response)
    if status < 400 or not path.startswith(API_PREFIXES):
        return response
    if response.headers.get("Content-Type", "").startswith("application/json"):
        return response
    return error_response(status, MESSAGES.get(status, "The request failed."))


def _explain_wrong_method(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Return the 405 of a GET with a page that explains it, if it is empty."""
    if not isinstance(response, HttpResponse) or response.content or request.method != "GET":
        return response
    context = {"is_recording": request.path_info == reverse("admin:scenarios_app_session_record")}
    response.content = render_to_string("405.html", context, request)
    response.headers["Content-Length"] = str(len(response.content))
    return response
