"""Several people at one scenario: who else has its page open, and merging of their changes.

Fields that only one of them changed are merged. A field that both changed is an error that names
both values.
"""

from copy import copy
from datetime import timedelta
from typing import Any

from django import forms
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.functional import cached_property

from scenarios_app.admin.editor.inputs import choice_label
from scenarios_app.engine.shapes.fields import MAX_NAME_CHARS
from scenarios_app.models import AnyScenario, Presence
from scenarios_app.models.fields import ScriptFormField
from scenarios_app.store.history import NO_USER
from scenarios_app.store.translate import move_to_columns

# Columns that hold a name of the document, which is shorter than they are.
NAMES = {"name", "counter"}
_MAX_VALUE_CHARS = 120
# How often an open page reports itself, and after how long without a report it counts as closed.
HEARTBEAT = timedelta(seconds=8)
PRESENCE_TIMEOUT = timedelta(seconds=25)
# At this status htmx shows the response and stops polling.
STOP_POLLING_STATUS = 286


class MergingForm(forms.ModelForm):
    """A form that keeps changes saved by others since its page was opened. `before` is the row at
    that time, None if it is unchanged; `changed_by` names who did. A field posted with its old
    value keeps the stored one."""

    before: Model | None = None
    changed_by: str = NO_USER
    # Fields that are not merged.
    unmerged_fields: frozenset[str] = frozenset()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Before the fields take their values from the row.
        self._moved_columns = move_to_columns(kwargs["instance"]) if kwargs.get("instance") else []
        super().__init__(*args, **kwargs)
        for name in NAMES & self.fields.keys():
            self.fields[name].widget.attrs["maxlength"] = MAX_NAME_CHARS

    @cached_property
    def changed_data(self) -> list[str]:
        """The changed fields, and with any the columns that were moved, since both are saved."""
        changed: list[str] = super().changed_data
        return [*dict.fromkeys([*changed, *self._moved_columns])] if changed else changed

    def clean(self) -> dict[str, Any]:
        """Keep the stored line ends of texts that were not changed."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name in cleaned.keys() - set(self.changed_data):
            if isinstance(self.fields[name], ScriptFormField):
                cleaned[name] = self.get_initial_for_field(self.fields[name], name)
        return cleaned

    def full_clean(self) -> None:
        """Validate only what the user changed; changes of others to the same column become
        errors."""
        unchanged, conflicts = self._merge() if self.is_bound and self.before else ([], {})
        # A column without a field keeps its stored value, and its posted value is ignored.
        all_fields = self.fields
        self.fields = {name: field for name, field in all_fields.items() if name not in unchanged}
        try:
            super().full_clean()
            for name, message in conflicts.items():
                if name not in self.errors:
                    self.add_error(name, message)
            # Cached here, while these fields count as unchanged.
            assert self.changed_data is not None
        finally:
            self.fields = all_fields

    def _merge(self) -> tuple[list[str], dict[str, str]]:
        """Return the fields that keep their stored values, and an error for each conflict."""
        unchanged: list[str] = []
        conflicts: dict[str, str] = {}
        old_form = self.unbound_form(copy(self.before))
        for name, field in self.fields.items():
            old = old_form.get_initial_for_field(field, name)
            stored = self.get_initial_for_field(field, name)
            if name in self.unmerged_fields or old == stored:
                continue
            sent = field.widget.value_from_datadict(self.data, self.files, self.add_prefix(name))
            if not field.has_changed(old, sent):
                unchanged.append(name)
            elif field.has_changed(stored, sent):
                conflicts[name] = (
                    f"{self.changed_by} changed this since you opened the page, "
                    f"to {display_value(field, stored)}. You have {display_value(field, sent)}."
                )
        return unchanged, conflicts

    def unbound_form(self, row: Any) -> forms.ModelForm:
        """Return an unbound form like this one for another version of the row."""
        return type(self)(instance=row)


def display_value(field: forms.Field, value: Any) -> str:
    """Return a value as the page shows it: in quotes, shortened if it is long, or `nothing`."""
    if isinstance(field, forms.ChoiceField):
        value = choice_label(field, value)
    if value in (None, "", [], {}):
        return "nothing"
    text = str(field.prepare_value(value))
    return f"“{text}”" if len(text) <= _MAX_VALUE_CHARS else f"“{text[: _MAX_VALUE_CHARS - 1]}…”"


def presence_page(request: HttpRequest, scenario: AnyScenario | None) -> HttpResponse:
    """Return the other users who have the page open as an HTML fragment; a post also records this
    user. Without a scenario the fragment says that it is deleted, and stops the polling."""
    template = "scenarios_app/admin/here.html"
    if scenario is None:
        return TemplateResponse(request, template, {"gone": True}, status=STOP_POLLING_STATUS)
    page = f"{scenario._meta.model_name}/{scenario.pk}"
    user: Any = request.user
    now = timezone.now()
    closed_before = now - PRESENCE_TIMEOUT
    if request.method == "POST":
        Presence.objects.filter(at__lt=closed_before).delete()
        Presence.objects.update_or_create(page=page, user=user, defaults={"at": now})
    rows = Presence.objects.filter(page=page, at__gte=closed_before).exclude(user=user)
    others = sorted(str(row.user) for row in rows.select_related("user"))
    return TemplateResponse(request, template, {"others": others})
