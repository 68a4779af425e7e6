"""Errors of the control and chat APIs as JSON: `{"code", "message", "field"}`."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpResponse, JsonResponse
from rest_framework.exceptions import APIException, Throttled, ValidationError

from mockllm_site.kit.testcase import OpenTestTransaction

log = logging.getLogger(__name__)

# Paths below which every error is such JSON.
API_PREFIXES = ("/control/", "/api/")
LIGHT_SERVER_HINT = (
    "this is a light server; start `mockllm serve` for the chat, the admin, pages and API documents"
)
DATABASE_FAILURES = (OperationalError, InterfaceError)
DATABASE_UNAVAILABLE = "The database does not answer; try again."

CODES: Mapping[int, str] = {
    400: "VALIDATION_ERROR",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    409: "CONFLICT",
    429: "RATE_LIMITED",
    500: "INTERNAL_ERROR",
    502: "NETWORK_ERROR",
    503: "SERVICE_UNAVAILABLE",
}


class ApiError(Exception):
    """An API request that fails; `field` is the path of the wrong value, if there is one."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.field = field
        self.headers = headers


def answer_error(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """Return the JSON error response for an exception of a view or its middleware."""
    match error:
        case ApiError():
            return error_response(
                error.status, error.message, field=error.field, headers=error.headers
            )
        case ValidationError():
            problems = list(_problems(error.detail))
            lines = [f"{path}: {message}" if path else message for path, message in problems]
            return error_response(400, "\n".join(lines), field=problems[0][0] or None)
        case Throttled():
            wait = getattr(error, "wait", None)
            headers = {} if wait is None else {"Retry-After": str(ceil(wait))}
            return error_response(429, str(error.detail), headers=headers)
        case APIException():
            # REST framework's views set this attribute on a 401.
            challenge = getattr(error, "auth_header", None)
            headers = {"WWW-Authenticate": challenge} if challenge else {}
            return error_response(error.status_code, str(error.detail), headers=headers)
        case Http404():
            return error_response(404, "There is nothing here.")
        case PermissionDenied():
            return error_response(403, "You may not do this.")
        case OpenTestTransaction():
            return error_response(503, str(error))
        case OperationalError() | InterfaceError():
            log.error("the database does not answer", exc_info=error)
            return error_response(503, DATABASE_UNAVAILABLE)
        case _:
            log.error("a request of an API failed", exc_info=error)
            return error_response(500, "The server failed; its log says why.")


def error_response(
    status: int,
    message: str,
    *,
    field: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Return an error response. A status that is not in CODES has the code of 400 or 500."""
    code = CODES.get(status) or CODES[400 if status < 500 else 500]
    body = {"code": code, "message": message, "field": field}
    return JsonResponse(body, status=status, headers=headers)


def _problems(detail: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the dotted path and the message of each validation error."""
    match detail:
        case Mapping():
            for key, inner in detail.items():
                name = "" if key == "non_field_errors" else str(key)
                yield from _problems(inner, ".".join(part for part in (path, name) if part))
        case str():
            yield path, str(detail)
        case Sequence():
            for inner in detail:
                yield from _problems(inner, path)
