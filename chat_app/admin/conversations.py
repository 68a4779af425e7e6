"""Conversations in the admin: named, tagged, archived and deleted; their messages are judged. What
was said is a record."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from chat_app import conversations as conversation_rows
from chat_app.models import ABComparison, ContextState, Conversation, Feedback, Message
from mockllm_site.kit.read_only_admin import (
    HIDDEN,
    ReadOnlyInline,
    RecordAdmin,
    TagFilter,
    as_json,
    chips,
    excerpt,
    link,
    page_of,
    preformatted,
)
from traces_app.models import Trace
from traces_app.selectors import is_blind

# Values of the filter by feedback, besides those that a message can have.
GIVEN, _NONE = "given", "none"


class Messages(ReadOnlyInline):
    model = Message
    fields = ("number", "sender", "said", "status", "branch", "feedback_shown", "created_at")
    readonly_fields = ("said", "feedback_shown")
    ordering = ("number",)

    @admin.display(description="Content")
    def said(self, message: Message) -> str:
        url = reverse(page_of(message), args=(message.pk,))
        return link(url, excerpt(message.content) or "(empty)")

    @admin.display(description="Feedback")
    def feedback_shown(self, message: Message) -> str:
        if not message.feedback:
            return "–"
        return ": ".join(filter(None, [message.feedback, excerpt(message.feedback_comment)]))


@admin.register(Conversation)
class ConversationAdmin(RecordAdmin):
    editable = ("title", "tags", "archived")
    deletable = True
    list_display: Sequence[str] = (
        "named", "tag_list", "client_id", "messages_count", "created_at", "last_message_at",
    )  # fmt: skip
    list_filter = ("archived", TagFilter)
    search_fields = ("id", "title", "client_id", "tags")
    ordering = ("-last_message_at",)
    actions = ("archive", "unarchive")
    fields = (*editable, "client_id", "id", "created_at", "last_message_at", "traces_link")
    inlines = (Messages,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        return super().get_queryset(request).annotate(count=Count("messages"))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What goes with a conversation cannot be deleted alone, but with it."""
        listed, counts, _, protected = super().get_deleted_objects(objs, request)
        return listed, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: Conversation) -> None:
        conversation_rows.delete(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> None:
        for conversation in queryset:
            conversation_rows.delete(conversation)

    @admin.action(description="Archive", permissions=["change"])
    def archive(self, request: HttpRequest, conversations: QuerySet[Conversation]) -> None:
        self.update_rows(request, conversations, archived=True, label="Archived")

    @admin.action(description="Take out of the archive", permissions=["change"])
    def unarchive(self, request: HttpRequest, conversations: QuerySet[Conversation]) -> None:
        self.update_rows(request, conversations, archived=False, label="Taken out of the archive")

    @admin.display(description="Conversation", ordering="title")
    def named(self, conversation: Conversation) -> str:
        mark = chips(["archived"] if conversation.archived else [])
        return format_html("{} {}", conversation, mark)

    @admin.display(description="Tags")
    def tag_list(self, conversation: Conversation) -> str:
        return chips(conversation.tags)

    @admin.display(description="Messages", ordering="count")
    def messages_count(self, conversation: Any) -> int:
        count: int = conversation.count
        return count

    @admin.display(description="Traces")
    def traces_link(self, conversation: Conversation) -> str:
        url = reverse("admin:traces_app_trace_changelist")
        count = conversation.traces.count()
        return link(f"{url}?conversation__id__exact={conversation.pk}", count)


class FeedbackFilter(admin.SimpleListFilter):
    title = "feedback"
    parameter_name = "feedback"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[Message]"
    ) -> list[tuple[str, str]]:
        named = [(str(value), str(label)) for value, label in Feedback.choices]
        return [(GIVEN, "Like or dislike"), *named, (_NONE, "None")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> QuerySet[Message]:
        value = self.value()
        if value is None:
            return queryset
        if value == GIVEN:
            return queryset.exclude(feedback="")
        return queryset.filter(feedback="" if value == _NONE else value)


class FeedbackForm(forms.ModelForm):
    class Meta:
        model = Message
        fields = ("feedback", "feedback_comment")

    def clean(self) -> dict[str, Any]:
        """As over the API: a comment is one on a like or a dislike."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if cleaned.get("feedback_comment") and not cleaned.get("feedback"):
            self.add_error("feedback_comment", "A comment needs a feedback that it explains.")
        return cleaned


@admin.register(Message)
class MessageAdmin(RecordAdmin):
    form = FeedbackForm
    editable = ("feedback", "feedback_comment")
    list_display = (
        "said", "sender", "feedback", "comment", "conversation_link", "trace_short", "created_at",
    )  # fmt: skip
    list_filter = (FeedbackFilter, "sender", "status")
    unfilterable = ("provider_id", "model_id", "rounds", "tool_calls")
    list_select_related = ("conversation", "trace")
    search_fields = ("id", "content", "feedback_comment", "conversation__id")
    ordering = ("-created_at",)
    fields = (
        "conversation_link",
        ("number", "sender"),
        ("status", "branch"),
        "text",
        *editable,
        "thoughts",
        "tools",
        "answered_by",
        "rounds_shown",
        "trace_link",
        "id",
        "client_id",
        "client_message_id",
        "created_at",
    )

    @admin.display(description="Content", ordering="content")
    def said(self, message: Message) -> str:
        return excerpt(message.content) or "–"

    @admin.display(description="Comment", ordering="feedback_comment")
    def comment(self, message: Message) -> str:
        return excerpt(message.feedback_comment) or "–"

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
        if message.branch and _is_blind(message):
            return HIDDEN
        return f"{message.provider_id} {message.model_id}".strip() or "–"

    @admin.display(description="Trace")
    def trace_short(self, message: Message) -> str:
        trace = getattr(message, "trace", None)
        return "–" if trace is None else link(f"/traces/{trace.pk}/", "Trace")

    @admin.display(description="Trace")
    def trace_link(self, message: Message) -> str:
        trace = _trace(message)
        return "–" if trace is None else link(reverse(page_of(trace), args=(trace.pk,)), trace.pk)


@admin.register(ContextState)
class ContextStateAdmin(RecordAdmin):
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

    @admin.display(description="Summary")
    def summary_shown(self, state: ContextState) -> str:
        return preformatted(state.summary)


def _trace(message: Message) -> Trace | None:
    """The run that wrote a message."""
    return Trace.objects.filter(message=message).first()


def _is_blind(message: Message) -> bool:
    """Whether it is an answer of a comparison that nobody has voted on; its trace may be gone."""
    trace = _trace(message)
    if trace is not None:
        return is_blind(trace)
    asked = ABComparison.objects.filter(
        conversation=message.conversation_id, user_message__number__lt=message.number
    )
    comparison = asked.order_by("-user_message__number").first()
    return comparison is None or not comparison.preference
