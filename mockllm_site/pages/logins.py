"""What is said to whom gave too many wrong passwords."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

TOO_MANY = 429


def locked_out(request: HttpRequest, response: object, credentials: Any) -> HttpResponse:
    """A page that says how long to wait; the same for names that are there and that are not."""
    wait = settings.AXES_COOLOFF_TIME
    answer = render(
        request,
        "mockllm_site/locked_out.html",
        {"wrong": settings.AXES_FAILURE_LIMIT, "minutes": round(wait.total_seconds() / 60)},
        status=TOO_MANY,
    )
    answer.headers["Retry-After"] = str(round(wait.total_seconds()))
    return answer
