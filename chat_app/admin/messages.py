"""Messages in the admin: add, change and delete them, and give feedback on answers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from chat_app import conversations
from chat_app.models import ABComparison, Conversation, Feedback, Message, MessageStatus, Sender
from mockllm_site.kit.admin import records as kit
from mockllm_site.kit.admin.record_edits import (
    EditableRecordAdmin,
    JsonFormField,
    NewRows,
    NewRowsInline,
    RecordForm,
)
from traces_app.reports import load_storable
from traces_app.selectors import is_blind

# Values of the feedback filter, besides those of messages.
ANY_FEEDBACK, _NONE = "given", "none"
_CALL_KEYS = {"id", "name", "arguments", "result", "is_error"}
_TOOL_CALLS_HELP = (
    'JSON, such as [{"name": "get_weather", "arguments": {"city": "Oslo"}, "result": "rain"}]; '
    "is_error and id are optional."
)


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


def read_tool_calls(value: Any) -> list[dict[str, Any]]:
    """Return complete tool calls, with ids where they had none. Raises ValueError."""
    if value is None:
        return []
    value = load_storable(json.dumps(value))
    if not isinstance(value, list):
        raise ValueError("Expected a list of tool calls.")
    return [_read_tool_call(call, number) for number, call in enumerate(value, start=1)]


def _read_tool_call(call: Any, number: int) -> dict[str, Any]:
    """Return a complete tool call; raises ValueError, which names it by its number."""
    if not isinstance(call, Mapping) or not isinstance(call.get("name"), str) or not call["name"]:
        raise ValueError(f"Tool call {number}: expected an object with a name.")
    if unknown := sorted(set(call) - _CALL_KEYS):
        raise ValueError(f"Tool call {number}: unknown key {unknown[0]}.")
    call = {"id": f"call_{number}", "arguments": {}, "result": None, "is_error": False, **call}
    for key, kinds, expected in (
        ("id", str, "a text"),
        ("arguments", (dict, str), "an object"),
        ("is_error", bool, "true or false"),
    ):
        if not isinstance(call[key], kinds):
            raise ValueError(f"Tool call {number}: {key} has to be {expected}.")
    if not isinstance(call["result"], str | None):
        call["result"] = json.dumps(call["result"], ensure_ascii=False)
    return call


class MessageForm(RecordForm):
    """A message: what it says has to fit who says it."""

    before = forms.IntegerField(
        label="Before message",
        required=False,
        min_value=1,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="The number of the message that it comes before. Empty: at the end.",
    )
    branch = forms.ChoiceField(
        label="Answer of a comparison",
        required=False,
        choices=[("", "no"), ("a", "A"), ("b", "B")],
        widget=UnfoldAdminSelectWidget,
    )
    tool_calls = JsonFormField(read_tool_calls, help_text=_TOOL_CALLS_HELP)

    class Meta:
        model = Message
        fields = "__all__"

    def clean(self) -> dict[str, Any]:
        """Add an error for a comment without feedback, and those of `check_record`."""
        cleaned = super().clean()
        is_unexplained = cleaned.get("feedback_comment") and not cleaned.get("feedback")
        if is_unexplained and self.has_changed_in("feedback", "feedback_comment"):
            self.add_error("feedback_comment", "A comment needs a feedback that it explains.")
        return cleaned

    def check_record(self, cleaned: dict[str, Any]) -> None:
        """Add an error to each field that does not fit the others."""
        if {"content", "tool_calls"} & set(self.errors):
            return
        values = {name: cleaned.get(name, getattr(self.instance, name)) for name in _CHECKED}
        for field, error in (*self._problems(values), *self._place_problems(cleaned, values)):
            if field in self.fields:
                self.add_error(field, error)

    def _problems(self, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield fields that do not fit the sender or the status, each with an error."""
        if values["sender"] == Sender.USER:
            if not values["content"].strip():
                yield "content", "A message of the user needs a text."
            for name in ("thinking", "tool_calls", "branch"):
                if values[name]:
                    yield name, "Only an answer has this."
            if values["status"] != MessageStatus.COMPLETE:
                yield "status", "A message of the user is always complete."
        elif values["status"] == MessageStatus.COMPLETE and not (
            values["content"] or values["tool_calls"]
        ):
            yield "content", "A complete answer needs a text or tool calls."

    def _place_problems(
        self, cleaned: Mapping[str, Any], values: Mapping[str, Any]
    ) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the message's place among the others."""
        stored = None if self.instance._state.adding else self.instance
        if stored and "sender" in self.changed_data and _is_compared(stored):
            yield "sender", "It belongs to a comparison."
        conversation = cleaned.get("conversation")
        if stored or not conversation:
            return
        if reason := conversations.why_locked(conversation.pk, writing=True):
            yield "conversation", reason
        if not cleaned.get("before") or values["branch"]:
            return
        following = conversations.messages_of(conversation).filter(number__gte=cleaned["before"])
        if (first := following.first()) and first.branch:
            yield "before", "The answers of a comparison stay behind their question."


_CHECKED = ("sender", "content", "thinking", "tool_calls", "status", "branch")


def _is_compared(message: Message) -> bool:
    return bool(message.branch) or ABComparison.objects.filter(user_message=message).exists()


class NewMessages(NewRows):
    """Messages that are added at the end of a conversation, in their order on the page: first a
    question, then its answer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        senders = [{"sender": sender} for sender in (Sender.USER, Sender.ASSISTANT)]
        super().__init__(*args, **{"initial": senders, **kwargs})

    def lock(self, parent: Conversation) -> str:
        return conversations.why_locked(parent.pk, writing=True)

    def save_new(self, form: Any, commit: bool = True) -> Message:
        """Store the message; its number is the next one."""
        message: Message = super().save_new(form, commit=False)
        conversations.insert_message(message)
        return message


class NewMessageInline(NewRowsInline):
    model = Message
    form = MessageForm
    formset = NewMessages
    verbose_name, verbose_name_plural = "new message", "new messages"
    fields = (("sender", "branch"), "content", "tool_calls")

    def get_extra(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> int:
        """Return the number of blank rows: a question and its answer for a new conversation."""
        return 0 if obj else 2


@admin.register(Message)
class MessageAdmin(EditableRecordAdmin):
    form = MessageForm
    editable = ("feedback", "feedback_comment")
    recorded = ("sender", "content", "thinking", "tool_calls", "status")
    added_only = ("conversation", "before", "branch")
    parent = "conversation"
    autocomplete_fields = ("conversation",)
    list_display = (
        "excerpt", "sender", "feedback", "comment", "edited", "conversation_link",
        "trace_page_link", "created_at",
    )  # fmt: skip
    list_filter = (MessageFeedbackFilter, "sender", "status")
    unfilterable = ("provider_id", "model_id", "rounds", "tool_calls")
    list_select_related = ("conversation", "trace")
    search_fields = ("id", "content", "feedback_comment", "conversation__id")
    ordering = ("-created_at",)
    new_fields = (
        "conversation", ("sender", "branch", "before"), "content", "tool_calls", "thinking",
        "status",
    )  # fmt: skip
    fields = (
        "conversation_link", ("number", "sender"), ("status", "branch"), "content", *editable,
        "tool_calls", "thinking", "model_name", "rounds_json", "trace_admin_link", "edited_time",
        "id", "client_id", "client_message_id", "created_at",
    )  # fmt: skip
    # In place of columns that cannot be changed.
    read_only_texts = MappingProxyType(
        {"content": "text", "tool_calls": "tools", "thinking": "thinking_text"}
    )
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

    def lock(self, row: Message, *, writing: bool) -> str:
        return conversations.why_locked(row.conversation_id, writing=writing)

    def update_derived(self, row: Message, changed: Sequence[str]) -> Sequence[str]:
        """Build the rounds again from what was changed, and drop the summary."""
        if not set(changed) & {"sender", "content", "tool_calls", "status"}:
            return ()
        row.rounds = conversations.rounds_of(row)
        conversations.after_edit(row.conversation)
        return ("rounds",)

    def save_model(self, request: HttpRequest, obj: Message, form: Any, change: bool) -> None:
        """Save; a new message gets its place in the conversation."""
        if change:
            super().save_model(request, obj, form, change)
        else:
            conversations.insert_message(obj, number=form.cleaned_data["before"])

    def after_deletion(self, row: Message) -> None:
        conversations.after_edit(row.conversation)

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
