"""Traces in the admin: runs with their events and model calls, read-only but for note and tags."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from mockllm_site.kit import read_only_admin as kit
from traces_app.leases import end_dead_runs
from traces_app.models import ModelCall, Status, Trace, TraceEvent
from traces_app.selectors import duration_ms, is_blind
from traces_app.to_scenario import CannotReplay, scenario_of_trace


class EventInline(kit.ReadOnlyInline):
    """The events of a run, in order."""

    model = TraceEvent
    fields = ("seq", "type", "payload_json", "when")
    readonly_fields = ("payload_json", "when")
    ordering = ("seq",)
    when = kit.column("At", lambda event: kit.format_time(event.at))

    @admin.display(description="Payload")
    def payload_json(self, event: TraceEvent) -> str:
        """Return the payload as JSON, without the conversation, which all events share."""
        payload = {key: value for key, value in event.payload.items() if key != "conversation_id"}
        return kit.json_html(payload, indent=None)


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


@admin.register(Trace)
class TraceAdmin(kit.RecordAdmin):
    editable = ("note", "tags")
    deletable = True
    list_display: Sequence[str] = (
        "start", "question", "status", "tag_list", "profile", "calls", "tokens", "duration",
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
    actions = ("make_scenarios",)
    fields = (
        *editable, "question", "conversation_link", "waterfall", ("status", "branch"),
        ("code", "error"), "profile_and_model", ("started", "finished"),
        ("first_token", "duration"), ("calls", "tokens"), "id",
    )  # fmt: skip
    inlines = (ModelCallInline, EventInline)
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

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Protect running runs, because their processes still write to them."""
        listed, counts, lacking, protected = super().get_deleted_objects(objs, request)
        running = [f"{trace}: still running" for trace in objs if trace.status == Status.RUNNING]
        return listed, counts, lacking, [*protected, *running]

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
        """Return the beginning of the user's message as HTML; a dash if the message is deleted."""
        text = kit.excerpt(trace.user_message.content if trace.user_message else "")
        return format_html('<span class="sc-question">{}</span>', text or "–")

    @admin.display(description="Waterfall")
    def waterfall(self, trace: Trace) -> str:
        """Return a link to the page that shows the waterfall, as HTML."""
        path = f"/traces/{trace.pk}/"
        return kit.link_html(path, path)

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
