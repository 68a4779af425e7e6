"""Events of runs in the admin: add them on the page of their trace, change and delete them."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminSelectWidget

from mockllm_site.kit.admin import records as kit
from mockllm_site.kit.admin.record_edits import (
    EditableRecordAdmin,
    JsonFormField,
    NewRows,
    NewRowsInline,
    RecordForm,
)
from traces_app.api import EVENTS
from traces_app.edits import STARTED, append_event, complete_payload, settle, why_locked
from traces_app.log import TERMINAL
from traces_app.models import Trace, TraceEvent
from traces_app.reports import load_storable

# The first and the last event follow from the trace.
_WRITTEN = [(type, type) for type in EVENTS if type != STARTED and type not in TERMINAL]
FOLLOWS = "The first and the last event follow from the trace: change its status there."
_PAYLOAD_HELP = (
    'JSON, such as {"content": "Hello"} of a chunk, or {"tool_call_id": "call_1", "tool_name": '
    '"get_weather"} of a tool_start; what follows from the trace is added.'
)


def _read_payload(value: Any) -> dict[str, Any]:
    """Return a JSON object that can be stored; raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError("Expected a JSON object.")
    return dict(load_storable(json.dumps(value)))


class EventForm(RecordForm):
    """An event: its payload has the keys of its type."""

    type = forms.ChoiceField(choices=_WRITTEN, widget=UnfoldAdminSelectWidget)
    payload = JsonFormField(_read_payload, help_text=_PAYLOAD_HELP)

    class Meta:
        model = TraceEvent
        fields = "__all__"

    def check_record(self, cleaned: dict[str, Any]) -> None:
        """Complete the payload; add an error for a missing or wrong key of it."""
        type, payload, event = cleaned.get("type"), cleaned.get("payload"), self.instance
        if type is None or payload is None:
            return
        payload = complete_payload(event.trace, type, payload, at=event.at)
        shape = EVENTS[type](data={"type": type, **payload})
        if not shape.is_valid():
            key, errors = next(iter(shape.errors.items()))
            self.add_error("payload", f"{key}: {_first_line(errors)}")
        cleaned["payload"] = payload


def _first_line(errors: Any) -> str:
    """Return the first of REST framework's nested errors."""
    while isinstance(errors, list | Mapping) and errors:
        errors = next(iter(errors.values() if isinstance(errors, Mapping) else errors))
    return str(errors)


class EventInline(kit.ReadOnlyInline):
    """The events of a run, in order."""

    model = TraceEvent
    fields = ("place", "type", "payload_json", "when", "edited")
    readonly_fields = ("place", "payload_json", "when", "edited")
    ordering = ("seq",)
    place = kit.column("Number", lambda event: kit.row_link(event, event.seq))
    when = kit.column("At", lambda event: kit.format_time(event.at))
    edited = EditableRecordAdmin.edited

    @admin.display(description="Payload")
    def payload_json(self, event: TraceEvent) -> str:
        """Return the payload as JSON, without the conversation, which all events share."""
        payload = {key: value for key, value in event.payload.items() if key != "conversation_id"}
        return kit.json_html(payload, indent=None)


class NewEvents(NewRows):
    """Events that are added before the last one, in their order on the page."""

    def lock(self, parent: Trace) -> str:
        return why_locked(parent.pk, writing=True)

    def save_new(self, form: Any, commit: bool = True) -> TraceEvent:
        """Store the event; its number is the next one."""
        event: TraceEvent = super().save_new(form, commit=False)
        append_event(event)
        settle(event.trace)
        return event


class NewEventInline(NewRowsInline):
    model = TraceEvent
    form = EventForm
    formset = NewEvents
    verbose_name, verbose_name_plural = "new event", "new events"
    fields = ("type", "payload")


@admin.register(TraceEvent)
class EventAdmin(EditableRecordAdmin):
    form = EventForm
    recorded = ("type", "payload", "at")
    parent = "trace"
    list_display = ("__str__", "trace", "at", "edited")
    list_select_related = ("trace",)
    search_fields = ("=trace__id",)
    ordering = ("-at", "-seq")
    fields = ("trace_link", "seq", "type", "payload", "at", "edited_time")
    read_only_texts = {"payload": "payload_json"}  # noqa: RUF012  (never changed)
    trace_link = kit.column("Trace", lambda event: kit.row_link(event.trace))
    payload_json = kit.column("Payload", lambda event: kit.json_html(event.payload))

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: events are added on the page of their trace."""
        return False

    def lock(self, row: TraceEvent, *, writing: bool) -> str:
        if reason := why_locked(row.trace_id, writing=writing):
            return reason
        # Of the stored type: a form may have set another one.
        stored = TraceEvent.objects.filter(pk=row.pk).values_list("type", flat=True).first()
        return FOLLOWS if stored == STARTED or stored in TERMINAL else ""

    def save_model(self, request: HttpRequest, obj: TraceEvent, form: Any, change: bool) -> None:
        """Save the event; the trace's totals follow."""
        super().save_model(request, obj, form, change)
        if form.changed_data:
            settle(obj.trace)

    def after_deletion(self, row: TraceEvent) -> None:
        settle(row.trace)
