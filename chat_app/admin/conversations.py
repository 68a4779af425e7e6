"""Conversations in the admin: rename, tag, archive and delete them; give feedback on messages.
Texts of messages are read-only."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from chat_app import conversations as conversation_rows
from chat_app.models import ABComparison, ContextState, Conversation, Feedback, Message
from mockllm_site.kit import read_only_admin as kit
from traces_app.selectors import is_blind

# Values of the feedback filter, besides those of messages.
ANY_FEEDBACK, _NONE = "given", "none"


class MessageInline(kit.ReadOnlyInline):
    model = Message
    fields = ("number", "sender", "content_link", "status", "branch", "feedback_text", "created_at")
    readonly_fields = ("content_link", "feedback_text")
    ordering = ("number",)
    content_link = kit.column(
        "Content", lambda message: kit.row_link(message, kit.excerpt(message.content) or "(empty)")
    )

    @admin.display(description="Feedback")
    def feedback_text(self, message: Message) -> str:
        if not message.feedback:
            return "–"
        return ": ".join(filter(None, [message.feedback, kit.excerpt(message.feedback_comment)]))


@admin.register(Conversation)
class ConversationAdmin(kit.RecordAdmin):
    editable = ("title", "tags", "archived")
    deletable = True
    list_display: Sequence[str] = (
        "title_chip", "tag_list", "client_id", "messages_count", "created_at", "last_message_at",
    )  # fmt: skip
    list_filter = ("archived", kit.TagFilter)
    search_fields = ("id", "title", "client_id", "tags")
    ordering = ("-last_message_at",)
    actions = ("archive", "unarchive")
    fields = (*editable, "client_id", "id", "created_at", "last_message_at", "traces_link")
    inlines = (MessageInline,)
    tag_list = kit.column("Tags", lambda conversation: kit.tags_html(conversation.tags))
    messages_count = kit.column("Messages", attrgetter("count"), ordering="count")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        return super().get_queryset(request).annotate(count=Count("messages"))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Allow deletion with all related rows, which cannot be deleted alone."""
        listed, counts, _, protected = super().get_deleted_objects(objs, request)
        return listed, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: Conversation) -> None:
        """Delete as the API does, after waiting for concurrent writers."""
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
    def title_chip(self, conversation: Conversation) -> str:
        """Return the title, marked if the conversation is archived."""
        mark = kit.tags_html(["archived"] if conversation.archived else [])
        return format_html("{} {}", conversation, mark)

    @admin.display(description="Traces")
    def traces_link(self, conversation: Conversation) -> str:
        url = reverse("admin:traces_app_trace_changelist")
        count = conversation.traces.count()
        return kit.link_html(f"{url}?conversation__id__exact={conversation.pk}", count)


class MessageFeedbackFilter(admin.SimpleListFilter):
    title = "feedback"
    parameter_name = "feedback"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        choices = [(str(value), str(label)) for value, label in Feedback.choices]
        return [(ANY_FEEDBACK, "Like or dislike"), *choices, (_NONE, "None")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> QuerySet[Message]:
        value = self.value()
        if value is None:
            return queryset
        if value == ANY_FEEDBACK:
            return queryset.exclude(feedback="")
        return queryset.filter(feedback="" if value == _NONE else value)


class FeedbackForm(forms.ModelForm):
    class Meta:
        model = Message
        fields = ("feedback", "feedback_comment")

    def clean(self) -> dict[str, Any]:
        """Add an error for a comment without feedback."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if cleaned.get("feedback_comment") and not cleaned.get("feedback"):
            self.add_error("feedback_comment", "A comment needs a feedback that it explains.")
        return cleaned


@admin.register(Message)
class MessageAdmin(kit.RecordAdmin):
    form = FeedbackForm
    editable = ("feedback", "feedback_comment")
    list_display = (
        "excerpt", "sender", "feedback", "comment", "conversation_link", "trace_page_link",
        "created_at",
    )  # fmt: skip
    list_filter = (MessageFeedbackFilter, "sender", "status")
    unfilterable = ("provider_id", "model_id", "rounds", "tool_calls")
    list_select_related = ("conversation", "trace")
    search_fields = ("id", "content", "feedback_comment", "conversation__id")
    ordering = ("-created_at",)
    fields = (
        "conversation_link", ("number", "sender"), ("status", "branch"), "text", *editable,
        "thinking_text", "tools", "model_name", "rounds_json", "trace_admin_link", "id",
        "client_id", "client_message_id", "created_at",
    )  # fmt: skip
    excerpt = kit.column(
        "Content", lambda message: kit.excerpt(message.content) or "–", ordering="content"
    )
    comment = kit.column(
        "Comment",
        lambda message: kit.excerpt(message.feedback_comment) or "–",
        ordering="feedback_comment",
    )
    conversation_link = kit.column("Conversation", lambda row: kit.row_link(row.conversation))
    text = kit.column("Content", lambda message: kit.preformatted_html(message.content))
    thinking_text = kit.column("Thinking", lambda message: kit.preformatted_html(message.thinking))
    tools = kit.column("Tool calls", lambda message: kit.json_html(message.tool_calls))
    rounds_json = kit.column("Rounds", lambda message: kit.json_html(message.rounds))

    @admin.display(description="Model")
    def model_name(self, message: Message) -> str:
        """Return the provider and model; hidden in a comparison without a vote."""
        if message.branch and _is_hidden(message):
            return kit.HIDDEN
        return f"{message.provider_id} {message.model_id}".strip() or "–"

    @admin.display(description="Trace")
    def trace_page_link(self, message: Message) -> str:
        """Return a link to the page of the trace, or a dash without a trace."""
        trace = getattr(message, "trace", None)
        return "–" if trace is None else kit.link_html(f"/traces/{trace.pk}/", "Trace")

    @admin.display(description="Trace")
    def trace_admin_link(self, message: Message) -> str:
        """Return a link to the trace in the admin, or a dash without a trace."""
        trace = getattr(message, "trace", None)
        return "–" if trace is None else kit.row_link(trace, trace.pk)


@admin.register(ContextState)
class ContextStateAdmin(kit.RecordAdmin):
    list_display = ("conversation", "strategy", "first", "last", "message_count", "created_at")
    search_fields = ("conversation__id", "conversation__title")
    fields = (
        "conversation", "strategy", ("first", "last"), "message_count", "summary_text",
        "created_at",
    )  # fmt: skip
    summary_text = kit.column("Summary", lambda state: kit.preformatted_html(state.summary))


def _is_hidden(message: Message) -> bool:
    """Return True if the answer's comparison has no vote or is gone; the trace may be deleted."""
    trace = getattr(message, "trace", None)
    if trace is not None:
        return is_blind(trace)
    comparisons = ABComparison.objects.filter(
        conversation=message.conversation_id, user_message__number__lt=message.number
    )
    comparison = comparisons.order_by("-user_message__number").first()
    return comparison is None or not comparison.preference
