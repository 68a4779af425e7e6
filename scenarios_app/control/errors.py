"""The errors of the control API: those of all our APIs, and documents that are none."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse

from mockllm_site.api import errors
from scenarios_app.engine.document import DocumentError


class ControlError(errors.ApiError):
    """A request to the control API that cannot be done."""


def answer_error(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """The answer to whatever a view, or what stands before it, raised."""
    if isinstance(error, DocumentError):
        return errors.error_response(400, str(error), field=error.place or None)
    return errors.answer_error(error, context)
