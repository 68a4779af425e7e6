"""Shared by the views of the chat API: access, errors, and their OpenAPI documentation."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.http import HttpResponse

from chat_app.errors import ChatError
from mockllm_site.kit.api import errors
from mockllm_site.kit.api import openapi as described
from mockllm_site.kit.api.access import ClientView
from mockllm_site.kit.api.views import AsyncJsonView
from traces_app.api import STATUS_MEANINGS

MEANINGS: Mapping[int, str] = {
    **STATUS_MEANINGS,
    404: "The id or name is unknown, or belongs to another client.",
    409: "The current state does not allow this.",
    503: "The database does not answer, or too many streams are open.",
}

documented = partial(described.documented, meanings=MEANINGS)


# The service's names of fields, and those of requests.
FIELDS: Mapping[str, str] = {"user_message": "message", "profile.id": "profile"}


def answer_error(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """Return the response for an error of a view; a ChatError gives its status and message."""
    if isinstance(error, ChatError):
        field = error.field and FIELDS.get(error.field, error.field)
        return errors.error_response(error.status, error.message, field=field)
    return errors.answer_error(error, context)


class ChatView(ClientView):
    """Base of the views of the chat API, which answers ChatErrors as JSON."""

    def get_exception_handler(self) -> Any:
        return answer_error


class AsyncChatView(ChatView, AsyncJsonView):
    """Base of the views of the chat API that are async and may return a stream."""
