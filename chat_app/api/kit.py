"""What the views of the chat API have in common: who gets in, and how errors are said."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse

from chat_app.errors import ChatError
from mockllm_site.kit.api import errors
from mockllm_site.kit.api.clients import ClientView
from mockllm_site.kit.api.view import AsyncJsonView

# What the service calls a thing, and where that stands in a request.
PLACES: Mapping[str, str] = {"user_message": "message", "profile.id": "profile"}


def answer_error(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    if isinstance(error, ChatError):
        field = error.field and PLACES.get(error.field, error.field)
        return errors.error_response(error.status, error.message, field=field)
    return errors.answer_error(error, context)


class ChatView(ClientView):
    """One path of the chat API."""

    def get_exception_handler(self) -> Any:
        return answer_error


class AsyncChatView(ChatView, AsyncJsonView):
    """One path of the chat API that answers with a stream, or acts on runs."""
