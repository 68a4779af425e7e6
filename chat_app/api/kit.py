"""What the views of the chat API have in common: who gets in, how errors are said, and what the
OpenAPI document tells of a method."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.http import HttpResponse

from chat_app.errors import ChatError
from mockllm_site.kit.api import errors
from mockllm_site.kit.api import openapi as described
from mockllm_site.kit.api.views import ClientView

MEANINGS: Mapping[int, str] = {
    400: "Something is wrong with the request; `field` says where.",
    401: "Neither a login nor the chat token.",
    403: "The CSRF token of a login is missing or wrong.",
    404: "There is nothing of this id or name, or not for this client.",
    409: "What goes on, or what was done, does not allow this.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    500: "The server failed; its log says why.",
    503: "The database does not answer, or too many streams are open.",
}

documented = partial(described.documented, meanings=MEANINGS)


# What the service calls a thing, and where that stands in a request.
FIELDS: Mapping[str, str] = {"user_message": "message", "profile.id": "profile"}


def answer_error(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    if isinstance(error, ChatError):
        field = error.field and FIELDS.get(error.field, error.field)
        return errors.error_response(error.status, error.message, field=field)
    return errors.answer_error(error, context)


class ChatView(ClientView):
    """One path of the chat API."""

    def get_exception_handler(self) -> Any:
        return answer_error
