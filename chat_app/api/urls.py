"""The routes of the chat API, those of traces among them."""

from django.urls import re_path

from chat_app.api.comparisons import (
    ComparisonView,
    LeaderboardView,
    PairView,
    PendingView,
    VoteView,
)
from chat_app.api.conversations import (
    DeleteView,
    FeedbackView,
    ListView,
    LoadView,
    NewView,
    RenameView,
    RewindView,
)
from chat_app.api.pages import DocsView, NothingHere, SchemaView
from chat_app.api.runs import CancelView, SendView, StreamView
from mockllm_site.kit.api.views import either
from traces_app.api import urls as traces

app_name = "chat_api"

urlpatterns = [
    *either("get_chat_response_stream", SendView),
    *either("stream/<str:trace_id>", StreamView),
    *either("cancel_stream", CancelView),
    *either("list_conversations", ListView),
    *either("load_conversation", LoadView),
    *either("new_conversation", NewView),
    *either("rename_conversation", RenameView),
    *either("delete_conversation", DeleteView),
    *either("rewind_conversation", RewindView),
    *either("feedback", FeedbackView),
    *either("ab/stream", PairView),
    *either("ab/vote", VoteView),
    *either("ab/pending", PendingView),
    *either("ab/leaderboard", LeaderboardView),
    *either("ab/<str:comparison_id>", ComparisonView),
    *traces.urlpatterns,
    *either("schema/", SchemaView, name="schema"),
    *either("docs/", DocsView, name="docs"),
    re_path("", NothingHere.as_view()),
]
