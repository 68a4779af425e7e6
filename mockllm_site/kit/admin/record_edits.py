"""Admin of records that people may add, change and delete, unless a program is writing them."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django import forms
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest
from django.utils import timezone
from unfold.admin import ModelAdmin, StackedInline

from mockllm_site.kit.admin import records as kit


class JsonFormField(forms.CharField):
    """JSON in a textarea. `read` checks and completes the parsed value; it raises ValueError."""

    def __init__(self, read: Callable[[Any], Any], **kwargs: Any) -> None:
        widget = kit.TextArea({"rows": 6, "spellcheck": "false"})
        super().__init__(required=False, widget=widget, **kwargs)
        self._read = read

    def prepare_value(self, value: Any) -> Any:
        """Return stored JSON as indented text; posted text stays."""
        if isinstance(value, str):
            return value
        if not value:
            return ""
        # Half a surrogate pair stays an escape.
        text = json.dumps(value, ensure_ascii=False, indent=2)
        return text.encode("utf-8", "backslashreplace").decode()

    def to_python(self, value: Any) -> Any:
        text = value if isinstance(value, str) else self.prepare_value(value)
        try:
            return self._read(json.loads(text) if text.strip() else None)
        except RecursionError:
            raise ValidationError("This JSON is nested too deep.") from None
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise ValidationError(f"This is no JSON: {error.msg} ({place}).") from None
        except ValueError as error:
            raise ValidationError(str(error)) from None

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare values, because an unchanged one may be written differently."""
        try:
            return bool(self.to_python(initial) != self.to_python(data))
        except ValidationError:
            return self.prepare_value(initial) != data


class RecordForm(forms.ModelForm):
    """A form of one record. The admin sets `recorded`, and `lock`, which locks the record's rows
    and returns why they cannot be changed."""

    recorded: Sequence[str] = ()

    @staticmethod
    def lock(row: Any) -> str:
        """Return "": no program writes this row."""
        return ""

    def clean(self) -> dict[str, Any]:
        """Add an error if recorded columns were changed and a program is writing the row. Columns
        that were not changed are not checked: a program wrote them."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.instance._state.adding or self.has_changed_in(*self.recorded):
            if reason := self.lock(self.instance):
                self.add_error(None, reason)
            self.check_record(cleaned)
        return cleaned

    def has_changed_in(self, *names: str) -> bool:
        return not set(self.changed_data).isdisjoint(names)

    def check_record(self, cleaned: dict[str, Any]) -> None:
        """Add an error to each field that does not fit the others."""


class EditableRecordAdmin(kit.RecordAdmin):
    """Admin of records that people may add, change and delete; changes mark a row as edited.

    `recorded` are the columns that only programs write otherwise, `added_only` those of them that a
    person sets when adding the row. The `editable` columns are notes, and leave no mark.
    """

    deletable = True
    form = RecordForm
    recorded: Sequence[str] = ()
    added_only: Sequence[str] = ()
    # The fields of the page that adds a row.
    new_fields: Sequence[Any] = ()
    # Fields that show columns which cannot be changed, by column.
    read_only_texts: Mapping[str, str] = MappingProxyType({})
    # A row of another admin page whose history names changes of this one's rows.
    parent: str = ""
    edited = kit.column("Edited", lambda row: kit.tags_html(edited_marks(row)) or "–")
    edited_time = kit.column("Edited by a person", lambda row: kit.format_time(row.edited_at))

    def lock(self, row: Any, *, writing: bool) -> str:
        """Return why recorded columns of a stored row cannot be changed now, "" if they can. If
        `writing`, lock the rows that a program would change."""
        return ""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return ModelAdmin.has_add_permission(self, request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return ModelAdmin.has_change_permission(self, request, obj)

    def _writable(self, request: HttpRequest, row: Any) -> set[str]:
        """Return the fields that can be changed now. One that was posted all the same stays: then
        the form refuses it and keeps what was typed."""
        writable = {*self.editable, *self.recorded}
        if row is None:
            return writable | set(self.added_only)
        if not self.has_change_permission(request, row):
            return set()
        if self.lock(row, writing=False):
            posted = request.POST if request.method == "POST" else {}
            writable -= {name for name in self.recorded if name not in posted}
        return writable

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[Any]:
        """Return the fields of the page, with texts in place of columns that cannot be changed."""
        if obj is None:
            return self.new_fields
        writable = self._writable(request, obj)

        def name_of(field: str) -> str:
            return field if field in writable else self.read_only_texts.get(field, field)

        return [
            name_of(field) if isinstance(field, str) else tuple(map(name_of, field))
            for field in self.fields or ()
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        """Return all fields but those that can be changed now."""
        writable = self._writable(request, obj)
        names = flatten_fieldsets(self.get_fieldsets(request, obj))
        return [name for name in names if name not in writable]

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kw: Any
    ) -> Any:
        """Return the form class, which knows how to lock the row."""
        form: Any = super().get_form(request, obj, change=change, **kw)
        form.recorded = (*self.recorded, *self.added_only)
        form.lock = staticmethod(lambda row: self.lock(row, writing=True))
        return form

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kw: Any) -> Any:
        """Say at the top of the page why the record cannot be changed."""
        row = kw.get("obj")
        may_change = row and self.has_change_permission(request, row)
        if may_change and request.method != "POST" and (reason := self.lock(row, writing=False)):
            self.message_user(request, reason, "WARNING")
        return super().render_change_form(request, context, *args, **kw)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save a new row, or the changed columns of an old one, and mark it."""
        if not change:
            obj.edited_at = timezone.now()
            obj.save()
        elif form.changed_data:
            columns = {*form.changed_data, *self.update_derived(obj, form.changed_data)}
            if columns & set(self.recorded):
                obj.edited_at = timezone.now()
                columns.add("edited_at")
            obj.save(update_fields=columns & {field.name for field in obj._meta.fields})

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        """Return the text of the history: what changed from what to what."""
        return describe_changes(form, formsets, add=add)

    def update_derived(self, row: Any, changed: Sequence[str]) -> Sequence[str]:
        """Set columns that follow from changed ones, and return their names."""
        return ()

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Protect rows that a program is writing."""
        listed, counts, lacking, protected = super().get_deleted_objects(objs, request)
        writing = request.method == "POST"
        reasons = [f"{row}: {why}" for row in objs if (why := self.lock(row, writing=writing))]
        return listed, counts, lacking, [*protected, *reasons]

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._log_at_parent(request, obj, f"Added {obj}.")
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._log_at_parent(request, obj, f"{obj}: {message}")
        return super().log_change(request, obj, message)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete the row; what follows from the others is updated."""
        self._log_at_parent(request, obj, f"Deleted {obj}.")
        super().delete_model(request, obj)
        self.after_deletion(obj)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        for row in queryset:
            self.delete_model(request, row)

    def after_deletion(self, row: Any) -> None:
        """Update what follows from the rows that are left."""

    def _log_at_parent(self, request: HttpRequest, row: Any, message: str) -> None:
        """Add a line to the history of the row's parent."""
        if self.parent:
            super().log_change(request, getattr(row, self.parent), message)


class NewRows(BaseInlineFormSet):
    """New rows at the end of their parent's; stored ones are on pages of their own."""

    @classmethod
    def get_default_prefix(cls) -> str:
        return "new"

    def clean(self) -> None:
        """Raise a ValidationError if a program is writing rows of the parent."""
        super().clean()
        if self.instance.pk and self.has_changed() and (reason := self.lock(self.instance)):
            raise ValidationError(reason)

    def lock(self, parent: Any) -> str:
        """Return why no rows can be added now, or ""; the rows are locked."""
        return ""


class NewRowsInline(StackedInline):
    """Blank rows, to be added at the end."""

    formset = NewRows
    extra = 0
    can_delete = False
    formfield_overrides = kit.RecordAdmin.formfield_overrides

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).none()

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_view_permission = has_delete_permission = has_change_permission


def edited_marks(row: Any) -> list[str]:
    """Return the mark of a row that a person edited, or none."""
    return ["edited"] if row.edited_at else []


def describe_changes(form: Any, formsets: Any, *, add: bool) -> str:
    """Return the history's text of a save: each column from what to what, and new rows."""
    lines = ["Added."] if add else []
    for name in () if add else form.changed_data:
        old, new = form.initial.get(name), form.cleaned_data[name]
        lines.append(f"{form[name].label}: from {_short(old)} to {_short(new)}.")
    for formset in formsets or ():
        lines += [f"Added {row}." for row in getattr(formset, "new_objects", ())]
    return " ".join(lines)


def _short(value: Any) -> str:
    """Return a value as one line of JSON, cut for the history."""
    if isinstance(value, Model):
        value = str(value)
    if isinstance(value, datetime):
        return kit.format_time(value)
    return kit.excerpt(json.dumps(value, ensure_ascii=False, default=str))
