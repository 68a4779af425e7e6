"""Conversations in the admin: their titles can be changed and they can be deleted, the rest is to
be read."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from unfold.admin import ModelAdmin

from chat_app.models import ContextState, Conversation, Message
from mockllm_site.read_only import (
    HIDDEN,
    ReadOnlyAdmin,
    ReadOnlyInline,
    as_json,
    excerpt,
    link,
    page_of,
    preformatted,
)
from traces_app.models import Trace
from traces_app.selectors import is_blind


class Messages(ReadOnlyInline):
    model = Message
    fields = ("number", "sender", "said", "status", "branch", "feedback", "created_at")
    readonly_fields = ("said",)
    ordering = ("number",)
    show_change_link = True

    @admin.display(description="Content")
    def said(self, message: Message) -> str:
        return excerpt(message.content)


@admin.register(Conversation)
class ConversationAdmin(ModelAdmin):
    list_display = ("__str__", "client_id", "messages_count", "created_at", "last_message_at")
    search_fields = ("id", "title", "client_id")
    ordering = ("-last_message_at",)
    show_full_result_count = False
    fields = ("title", "client_id", "id", "created_at", "last_message_at", "traces_link")
    readonly_fields = ("client_id", "id", "created_at", "last_message_at", "traces_link")
    inlines = (Messages,)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        return super().get_queryset(request).annotate(count=Count("messages"))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What goes with a conversation cannot be deleted alone, but with it."""
        listed, counts, _, protected = super().get_deleted_objects(objs, request)
        return listed, counts, set(), protected

    @admin.display(description="Messages", ordering="count")
    def messages_count(self, conversation: Any) -> int:
        count: int = conversation.count
        return count

    @admin.display(description="Traces")
    def traces_link(self, conversation: Conversation) -> str:
        url = reverse("admin:traces_app_trace_changelist")
        count = conversation.traces.count()
        return link(f"{url}?conversation__id__exact={conversation.pk}", count)


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = ("said", "sender", "status", "feedback", "conversation", "created_at")
    list_filter = ("sender", "status", "feedback")
    untold = ("provider_id", "model_id", "rounds", "tool_calls")
    list_select_related = ("conversation",)
    search_fields = ("id", "content", "conversation__id")
    ordering = ("-created_at",)
    fields = (
        "conversation_link",
        ("number", "sender"),
        ("status", "branch"),
        "text",
        "thoughts",
        "tools",
        "answered_by",
        "rounds_shown",
        "feedback",
        "feedback_comment",
        "trace_link",
        "id",
        "client_id",
        "client_message_id",
        "created_at",
    )
    readonly_fields: Sequence[str] = (
        "conversation_link", "text", "thoughts", "tools", "answered_by", "rounds_shown",
        "trace_link",
    )  # fmt: skip

    @admin.display(description="Content", ordering="content")
    def said(self, message: Message) -> str:
        return excerpt(message.content) or "–"

    @admin.display(description="Conversation")
    def conversation_link(self, message: Message) -> str:
        url = reverse(page_of(message.conversation), args=(message.conversation_id,))
        return link(url, message.conversation)

    @admin.display(description="Content")
    def text(self, message: Message) -> str:
        return preformatted(message.content)

    @admin.display(description="Thinking")
    def thoughts(self, message: Message) -> str:
        return preformatted(message.thinking)

    @admin.display(description="Tool calls")
    def tools(self, message: Message) -> str:
        return as_json(message.tool_calls)

    @admin.display(description="Rounds")
    def rounds_shown(self, message: Message) -> str:
        return as_json(message.rounds)

    @admin.display(description="Model")
    def answered_by(self, message: Message) -> str:
        trace = _trace(message)
        if message.branch and (trace is None or is_blind(trace)):
            return HIDDEN
        return f"{message.provider_id} {message.model_id}".strip() or "–"

    @admin.display(description="Trace")
    def trace_link(self, message: Message) -> str:
        trace = _trace(message)
        return "–" if trace is None else link(reverse(page_of(trace), args=(trace.pk,)), trace.pk)


@admin.register(ContextState)
class ContextStateAdmin(ReadOnlyAdmin):
    list_display = ("conversation", "strategy", "first", "last", "message_count", "created_at")
    search_fields = ("conversation__id", "conversation__title")
    fields = (
        "conversation",
        "strategy",
        ("first", "last"),
        "message_count",
        "summary_shown",
        "created_at",
    )
    readonly_fields = ("summary_shown",)

    @admin.display(description="Summary")
    def summary_shown(self, state: ContextState) -> str:
        return preformatted(state.summary)


def _trace(message: Message) -> Trace | None:
    """The run that wrote a message."""
    return Trace.objects.filter(message=message).first()
