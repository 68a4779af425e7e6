"""Conversations in the admin: add them with messages, rename, tag, archive, export, delete."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html

from chat_app import conversations as conversation_rows
from chat_app.admin.messages import NewMessageInline
from chat_app.fixtures import CannotExport, fixture_of
from chat_app.models import ContextState, Conversation, Message
from mockllm_site.kit.admin import records as kit
from mockllm_site.kit.admin.record_edits import EditableRecordAdmin, edited_marks


class MessageInline(kit.ReadOnlyInline):
    model = Message
    fields = (
        "number", "sender", "content_link", "status", "branch", "feedback_text", "edited",
        "created_at",
    )  # fmt: skip
    readonly_fields = ("content_link", "feedback_text", "edited")
    edited = EditableRecordAdmin.edited
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
class ConversationAdmin(EditableRecordAdmin):
    editable = ("title", "tags", "archived")
    added_only = ("client_id",)
    new_fields = (("title", "client_id"), "tags")
    list_display: Sequence[str] = (
        "title_chip", "tag_list", "client_id", "messages_count", "created_at", "last_message_at",
    )  # fmt: skip
    list_filter = ("archived", kit.TagFilter)
    search_fields = ("id", "title", "client_id", "tags")
    ordering = ("-last_message_at",)
    actions = ("archive", "unarchive", "export_fixture")
    fields = (
        *editable, "client_id", "id", "created_at", "last_message_at", "traces_link",
        "edited_time",
    )  # fmt: skip
    inlines = (MessageInline, NewMessageInline)
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

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        """Return the inlines; a new conversation has no list of messages yet."""
        return self.inlines if obj else (NewMessageInline,)

    def get_changeform_initial_data(self, request: HttpRequest) -> Any:
        return {"client_id": "test", **super().get_changeform_initial_data(request)}

    @admin.action(description="Archive", permissions=["change"])
    def archive(self, request: HttpRequest, conversations: QuerySet[Conversation]) -> None:
        self.update_rows(request, conversations, archived=True, label="Archived")

    @admin.action(description="Take out of the archive", permissions=["change"])
    def unarchive(self, request: HttpRequest, conversations: QuerySet[Conversation]) -> None:
        self.update_rows(request, conversations, archived=False, label="Taken out of the archive")

    @admin.action(description="Export as a fixture (JSON)", permissions=["view"])
    def export_fixture(
        self, request: HttpRequest, conversations: QuerySet[Conversation]
    ) -> HttpResponse | None:
        """Return a file for loaddata, with all that belongs to the conversations."""
        try:
            text = fixture_of(Conversation.objects.filter(pk__in=conversations.values("pk")))
        except CannotExport as error:
            messages.error(request, f"No fixture was exported. {error}")
            return None
        response = HttpResponse(text + "\n", content_type="application/json; charset=utf-8")
        response["Content-Disposition"] = 'attachment; filename="conversations.json"'
        return response

    @admin.display(description="Conversation", ordering="title")
    def title_chip(self, conversation: Conversation) -> str:
        """Return the title, marked if the conversation is archived or edited."""
        marks = [*(["archived"] if conversation.archived else []), *edited_marks(conversation)]
        return format_html("{} {}", conversation, kit.tags_html(marks))

    @admin.display(description="Traces")
    def traces_link(self, conversation: Conversation) -> str:
        url = reverse("admin:traces_app_trace_changelist")
        count = conversation.traces.count()
        return kit.link_html(f"{url}?conversation__id__exact={conversation.pk}", count)


@admin.register(ContextState)
class ContextStateAdmin(kit.RecordAdmin):
    list_display = ("conversation", "strategy", "first", "last", "message_count", "created_at")
    search_fields = ("conversation__id", "conversation__title")
    fields = (
        "conversation", "strategy", ("first", "last"), "message_count", "summary_text",
        "created_at",
    )  # fmt: skip
    summary_text = kit.column("Summary", lambda state: kit.preformatted_html(state.summary))
