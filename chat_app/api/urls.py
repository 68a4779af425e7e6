"""The routes of the chat API and of traces, their OpenAPI document and its page."""

from typing import Any, NoReturn

from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.urls import re_path, reverse
from rest_framework.request import Request
from rest_framework.response import Response

from chat_app.api import comparisons, conversations
from chat_app.api.kit import ChatView, documented
from chat_app.api.runs import CancelView, SendView, StreamView
from mockllm_site.kit.api.docs_page import docs_page
from mockllm_site.kit.api.errors import ApiError
from mockllm_site.kit.api.views import with_optional_slash
from traces_app.api import ScenarioOfTraceView, TraceByIdView, TraceOfMessageView

OBJECT = {"type": "object", "additionalProperties": True}


class SchemaView(ChatView):
    @documented("read_openapi", answers={200: (OBJECT, "OpenAPI 3.1.")}, tag="description")
    def get(self, request: Request) -> Response:
        """Return this OpenAPI document."""
        return Response(_openapi())


class DocsView(ChatView):
    @documented(
        "read_docs",
        answers={200: ({"type": "string"}, "HTML.")},
        media_type="text/html",
        tag="description",
    )
    def get(self, request: Request) -> HttpResponse:
        """Return an HTML page to read this OpenAPI document and to try requests."""
        # Logged-in users need it to try requests.
        get_token(request._request)
        return docs_page(
            request._request,
            _openapi(),
            title="mockllm chat API",
            schema_url=reverse("chat_api:schema"),
        )


class NotFoundView(ChatView):
    """Raises a 404 for all other paths below /api/, with any method."""

    schema = None

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> NoReturn:
        docs = reverse("chat_api:docs")
        raise ApiError(404, f"There is no {request.path}; {docs} says what there is.")


def _openapi() -> dict[str, Any]:
    """Return the OpenAPI document."""
    # Imported late: most servers never make it, and its library imports Django's test client.
    from chat_app.api.openapi import document

    return document()


app_name = "chat_api"

urlpatterns = [
    *with_optional_slash("get_chat_response_stream", SendView),
    *with_optional_slash("stream/<str:trace_id>", StreamView),
    *with_optional_slash("cancel_stream", CancelView),
    *with_optional_slash("list_conversations", conversations.ListView),
    *with_optional_slash("load_conversation", conversations.LoadView),
    *with_optional_slash("new_conversation", conversations.NewView),
    *with_optional_slash("rename_conversation", conversations.RenameView),
    *with_optional_slash("delete_conversation", conversations.DeleteView),
    *with_optional_slash("rewind_conversation", conversations.RewindView),
    *with_optional_slash("feedback", conversations.FeedbackView),
    *with_optional_slash("ab/stream", comparisons.PairStreamView),
    *with_optional_slash("ab/vote", comparisons.VoteView),
    *with_optional_slash("ab/pending", comparisons.PendingView),
    *with_optional_slash("ab/leaderboard", comparisons.LeaderboardView),
    *with_optional_slash("ab/<str:comparison_id>", comparisons.ComparisonView),
    *with_optional_slash("trace/by_message/<str:message_id>", TraceOfMessageView),
    *with_optional_slash("trace/<str:trace_id>", TraceByIdView),
    *with_optional_slash("trace/<str:trace_id>/scenario", ScenarioOfTraceView),
    *with_optional_slash("schema/", SchemaView, name="schema"),
    *with_optional_slash("docs/", DocsView, name="docs"),
    re_path("", NotFoundView.as_view()),
]
