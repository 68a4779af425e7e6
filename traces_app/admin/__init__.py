"""Traces in the admin: add runs with their events, change and delete them."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminSelectWidget

from mockllm_site.kit.admin import records as kit
from mockllm_site.kit.admin.record_edits import EditableRecordAdmin, RecordForm
from traces_app.admin.events import EventInline, NewEventInline
from traces_app.edits import STATUSES, settle, why_locked, write_run
from traces_app.leases import end_dead_runs
from traces_app.models import ModelCall, Status, Trace
from traces_app.selectors import duration_ms, is_blind
from traces_app.to_scenario import CannotReplay, scenario_of_trace


def _format_tokens(row: Trace | ModelCall) -> str:
    """Return input and output tokens, marked if they are estimated."""
    mark = " (estimated)" if row.tokens_estimated else ""
    return f"{row.input_tokens:,} / {row.output_tokens:,}{mark}"


def _format_duration(row: Trace | ModelCall) -> str:
    """Return the milliseconds of a finished run or call, else a dash."""
    count = duration_ms(row.started_at, row.finished_at)
    return "–" if count is None else f"{count:,} ms"


class ModelCallInline(kit.ReadOnlyInline):
    """The model calls of a run, in order."""

    model = ModelCall
    verbose_name_plural = "model calls"
    fields: Sequence[str] = (
        "number", "purpose", "model_name", "finish_reason", "code", "tokens", "duration",
        "response_json",
    )  # fmt: skip
    readonly_fields = ("model_name", "tokens", "duration", "response_json")
    ordering = ("number",)
    tokens = kit.column("Input / output tokens", _format_tokens)
    duration = kit.column("Duration", _format_duration)
    response_json = kit.column("Response", lambda call: kit.json_html(call.parts))

    @admin.display(description="Model")
    def model_name(self, call: ModelCall) -> str:
        """Return provider and model, or HIDDEN in a comparison without a vote."""
        return kit.HIDDEN if is_blind(call.trace) else f"{call.provider_id} {call.model_id}".strip()


_MODEL = ("profile_name", "provider_id", "model_id")


class TraceForm(RecordForm):
    """A run that has ended: its error fits its status, and it belongs to an answer or question."""

    code = forms.ChoiceField(
        required=False,
        choices=[("", "none"), *((code, code) for code in STATUSES)],
        widget=UnfoldAdminSelectWidget,
        help_text="Of a failed run.",
    )

    class Meta:
        model = Trace
        fields = "__all__"
        help_texts: ClassVar = {
            "message": "The answer of the run, from which its events are made.",
            "user_message": "Only without an answer: the question.",
            "finished_at": "Empty: when it started.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if (status := self.fields.get("status")) is not None:
            ended = [choice for choice in Status.choices if choice[0] != Status.RUNNING]
            cast(forms.ChoiceField, status).choices = ended
            status.initial = Status.COMPLETED
            if self.instance._state.adding:
                self.initial["status"] = Status.COMPLETED
        for name in {"message", "user_message"} & set(self.fields):
            self.fields[name].required = False

    def check_record(self, cleaned: dict[str, Any]) -> None:
        """Add an error to each field that does not fit the others."""
        if self.instance._state.adding:
            self._set_owner(cleaned)
        if {"status", "code"} <= set(cleaned) and self.has_changed_in("status", "code", "error"):
            failed = cleaned["status"] == Status.FAILED
            if failed and cleaned["code"] not in STATUSES:
                self.add_error("code", "A failed run has one of these codes.")
            for name in () if failed else ("code", "error"):
                if cleaned.get(name):
                    self.add_error(name, "Only a failed run has this.")
        started = cleaned.get("started_at")
        cleaned["finished_at"] = finished = cleaned.get("finished_at") or started
        if started and finished < started:
            self.add_error("finished_at", "It ends before it starts.")

    def _set_owner(self, cleaned: dict[str, Any]) -> None:
        """Set the run's conversation, question and branch from its answer or question."""
        trace = self.instance
        answer: Any = cleaned.get("message")
        question: Any = cleaned.get("user_message")
        if answer is None and question is None:
            if "message" not in self.errors:
                self.add_error("message", "A run belongs to an answer, or to a question.")
            return
        if answer is not None and answer.sender != "assistant":
            self.add_error("message", "This is a message of the user.")
        elif answer is not None:
            before = answer.conversation.messages.filter(number__lt=answer.number, sender="user")
            previous = before.order_by("number").last()
            if question not in (None, previous):
                self.add_error("user_message", "This is not the question before the answer.")
            trace.branch, trace.conversation = answer.branch, answer.conversation
            cleaned["user_message"] = previous
        elif question.sender != "user":
            self.add_error("user_message", "This is an answer.")
        else:
            trace.conversation = question.conversation


@admin.register(Trace)
class TraceAdmin(EditableRecordAdmin):
    form = TraceForm
    editable = ("note", "tags")
    recorded = ("status", "code", "error", "started_at", "finished_at", *_MODEL)
    added_only = ("message", "user_message")
    autocomplete_fields = ("message", "user_message")
    new_fields = (
        "message", "user_message", "status", "code", "error", *_MODEL, "started_at",
        "finished_at", "note", "tags",
    )  # fmt: skip
    read_only_texts = MappingProxyType({"started_at": "started", "finished_at": "finished"})
    list_display: Sequence[str] = (
        "start", "question", "status", "tag_list", "edited", "profile", "calls", "tokens",
        "duration",
    )  # fmt: skip
    # No filter by profile or model: it would reveal the sides of a comparison before the vote.
    list_filter = ("status", kit.TagFilter, "branch", "code")
    unfilterable = ("profile_name", "provider_id", "model_id")
    list_select_related = (
        "conversation", "user_message", "comparison_as_a", "comparison_as_b",
    )  # fmt: skip
    search_fields = (
        "id", "user_message__content", "conversation__id", "conversation__title", "note", "tags",
    )  # fmt: skip
    ordering = ("-started_at",)
    # The question links to the trace's page, which leads here to edit it.
    list_display_links = None
    actions = ("make_scenarios",)
    fields = (
        *editable, "question", "conversation_link", ("status", "branch"),
        "code", "error", "profile_and_model", "started_at", "finished_at",
        ("first_token", "duration"), ("calls", "tokens"), "edited_time", "id",
    )  # fmt: skip
    inlines = (ModelCallInline, EventInline, NewEventInline)
    tag_list = kit.column("Tags", lambda trace: kit.tags_html(trace.tags))
    started = kit.column("Started", lambda trace: kit.format_time(trace.started_at))
    first_token = kit.column("First token", lambda trace: kit.format_time(trace.first_token_at))
    finished = kit.column("Finished", lambda trace: kit.format_time(trace.finished_at))
    calls = kit.column("Model / tool calls", lambda run: f"{run.model_calls} / {run.tool_calls}")
    tokens = kit.column("Input / output tokens", _format_tokens)
    duration = kit.column("Duration", _format_duration)
    conversation_link = kit.column("Conversation", lambda trace: kit.row_link(trace.conversation))

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Allow the link from a conversation's page to its traces."""
        if lookup == "conversation__id__exact":
            return True
        return super().lookup_allowed(lookup, value, request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Trace]:
        """End dead runs first, so that no row shows them as running."""
        end_dead_runs()
        return super().get_queryset(request)

    def lock(self, row: Trace, *, writing: bool) -> str:
        return why_locked(row.pk, writing=writing)

    def _writable(self, request: HttpRequest, row: Any) -> set[str]:
        """Return the fields that can be changed, without those that are hidden until the vote."""
        hidden = _MODEL if row is not None and is_blind(row) else ()
        return super()._writable(request, row) - set(hidden)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[Any]:
        """Return the fields; profile and model are one text unless they can be changed."""
        fields = super().get_fields(request, obj)
        if obj is None or "model_id" not in self._writable(request, obj):
            return fields
        place = fields.index("profile_and_model")
        return [*fields[:place], *_MODEL, *fields[place + 1 :]]

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        """Return no inlines for a new trace: its events are made from its answer."""
        return self.inlines if obj else ()

    def save_model(self, request: HttpRequest, obj: Trace, form: Any, change: bool) -> None:
        """Save the run; its events follow."""
        super().save_model(request, obj, form, change)
        if not change:
            write_run(obj)
        elif set(form.changed_data) & set(self.recorded):
            settle(obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Allow deletion with the events, which need no permission of their own."""
        listed, counts, _, protected = super().get_deleted_objects(objs, request)
        return listed, counts, set(), protected

    @admin.action(description="Export as scenarios (JSON)", permissions=["view"])
    def make_scenarios(self, request: HttpRequest, traces: QuerySet[Trace]) -> HttpResponse | None:
        """Return a file of scenario documents; none if one of the traces cannot be replayed."""
        documents = []
        for trace in traces.select_related("user_message"):
            try:
                documents.append(scenario_of_trace(trace))
            except CannotReplay as error:
                messages.error(request, f"No scenarios were exported. Trace {trace.pk}: {error}")
                return None
        response = JsonResponse({"scenarios": documents}, json_dumps_params={"indent": 2})
        response["Content-Disposition"] = 'attachment; filename="traces.json"'
        return response

    @admin.display(description="Started", ordering="started_at")
    def start(self, trace: Trace) -> SafeString:
        """Return the date and the time of the start as two short lines, as HTML."""
        date, _, time = kit.format_time(trace.started_at).partition(" ")
        return _no_wrap_html(date) + format_html('<span class="sc-under">{}</span>', time)

    @admin.display(description="Question", ordering="user_message__content")
    def question(self, trace: Trace) -> str:
        """Return the beginning of the user's message as HTML, linked to the trace's page; if the
        message is deleted, other words."""
        if trace._state.adding:
            return "–"
        text = kit.excerpt(trace.user_message.content if trace.user_message else "")
        link = kit.link_html(reverse("trace", args=(trace.pk,)), text or "(deleted)")
        return format_html('<span class="sc-question">{}</span>', link)

    @admin.display(description="Profile")
    def profile(self, trace: Trace) -> str:
        """Return the profile's name as HTML, or HIDDEN in a comparison without a vote."""
        return _no_wrap_html(kit.HIDDEN) if is_blind(trace) else trace.profile_name

    @admin.display(description="Profile")
    def profile_and_model(self, trace: Trace) -> str:
        """Return profile, provider and model, or HIDDEN in a comparison without a vote."""
        if is_blind(trace):
            return kit.HIDDEN
        return f"{trace.profile_name}: {trace.provider_id} {trace.model_id}"


def _no_wrap_html(text: str) -> SafeString:
    """Return a text that stays on one line, as HTML."""
    return format_html('<span class="sc-unbroken">{}</span>', text)
