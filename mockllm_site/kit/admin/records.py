"""Base classes and helpers of admin pages for rows that programs write, such as traces."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import flatten_fieldsets
from django.db.models import Model, QuerySet, TextField
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from unfold.admin import TabularInline
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from mockllm_site.kit.admin.kept_forms import KeptFormAdmin
from mockllm_site.kit.fields import NamesField

MAX_EXCERPT_CHARS = 80
# Shown instead of the profile of an answer until the vote.
HIDDEN = "hidden until the vote"


class TextArea(UnfoldAdminTextareaWidget):
    """Text area with the template of Django: the one of the theme loses an empty first line."""

    template_name = "django/forms/widgets/textarea.html"


class TextFormField(forms.CharField):
    """A text with line feeds alone: browsers post each with a carriage return."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"strip": False, **kwargs})

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value) or "").replace("\r\n", "\n")

    def has_changed(self, initial: Any, data: Any) -> bool:
        return self.to_python(initial) != self.to_python(data)


# Of text columns in the admin.
TEXT_OVERRIDE: Mapping[str, Any] = MappingProxyType(
    {"form_class": TextFormField, "widget": TextArea({"rows": 3})}
)


class RecordAdmin(KeptFormAdmin):
    """Admin of rows that programs write: only `editable` columns change, none are added."""

    actions: Sequence[str] | None = None
    show_full_result_count = False
    editable: Sequence[str] = ()
    deletable = False
    # Columns that URLs may not filter by, because that would reveal hidden values.
    unfilterable: Sequence[str] = ()
    formfield_overrides: Mapping[Any, Any] = MappingProxyType(
        {
            NamesField: {"widget": UnfoldAdminTextInputWidget},
            TextField: TEXT_OVERRIDE,
        }
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True if the class has `editable` columns and the user may change them."""
        return bool(self.editable) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True if the class is `deletable` and the user may delete."""
        return self.deletable and super().has_delete_permission(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        """Return all fields except the `editable` ones."""
        fields = flatten_fieldsets(self.get_fieldsets(request, obj))
        return [name for name in fields if name not in self.editable]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save the changed columns only: a program may be writing the others."""
        obj.save(update_fields=form.changed_data)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return Django's tuple; its list leaves out related rows, of which thousands may exist."""
        listed, *rest = super().get_deleted_objects(objs, request)
        return [item for item in listed if not isinstance(item, list)], *rest

    def update_rows(
        self, request: HttpRequest, rows: QuerySet[Any], *, label: str, **column: Any
    ) -> None:
        """Set a column on the chosen rows, log it in their history and show how many changed."""
        # Counted first: a filter of the list may exclude the rows once they are changed.
        count, changed = rows.count(), list(rows.exclude(**column))
        self.model._default_manager.filter(pk__in=[row.pk for row in changed]).update(**column)
        for row in changed:
            self.log_change(request, row, f"{label}.")
        messages.success(request, f"{label}: {len(changed)} of {count}.")

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Return False for `unfilterable` columns."""
        if lookup.split("__")[0] in self.unfilterable:
            return False
        return bool(super().lookup_allowed(lookup, value, request))


class ReadOnlyInline(TabularInline):
    """Read-only rows on the page of their parent."""

    extra = max_num = 0
    # The columns identify a row, and link to its page if it has one.
    hide_title = True
    can_delete = False
    per_page = 50

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission


def column(label: str, show: Callable[[Any], object], *, ordering: str | None = None) -> Any:
    """Return a method for `list_display`: a column named `label` that shows `show(row)`."""
    return admin.display(description=label, ordering=ordering)(lambda _, row: show(row))


def link_html(url: str, text: object) -> str:
    return format_html('<a class="sc-link" href="{}">{}</a>', url, text)


def preformatted_html(text: str) -> str:
    """Return escaped text with its line breaks, as HTML; a dash for an empty text."""
    return format_html('<pre class="sc-pre" tabindex="0">{}</pre>', text) if text else "–"


def json_html(value: Any, *, indent: int | None = 2) -> str:
    """Return indented JSON as HTML, a dash for an empty value; unpaired surrogates are escaped."""
    if not value:
        return "–"
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return preformatted_html(text.encode("utf-8", "backslashreplace").decode())


def format_time(time: datetime | None) -> str:
    """Return a UTC time as text with milliseconds; a dash for None."""
    if time is None:
        return "–"
    return f"{time:%Y-%m-%d %H:%M:%S}.{time.microsecond // 1000:03} UTC"


def excerpt(text: str) -> str:
    """Return a text on one line, cut to 80 characters."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_EXCERPT_CHARS else f"{line[: MAX_EXCERPT_CHARS - 1]}…"


def admin_url(row: Model) -> str:
    """Return the address of a row's admin page."""
    name = f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
    return reverse(name, args=(row.pk,))


def row_link(row: Model, text: object = None) -> str:
    """Return a link to a row's admin page, as HTML; its text is the row's own by default."""
    return link_html(admin_url(row), row if text is None else text)


class TagFilter(admin.SimpleListFilter):
    """Filters by the tags in the column `tags`."""

    title = "tag"
    parameter_name = "tag"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[Any]"
    ) -> list[tuple[str, str]]:
        rows = model_admin.model._default_manager.order_by().exclude(tags=[])
        self._tagged = list(rows.values_list("pk", "tags"))
        return [(tag, tag) for tag in sorted({tag for _, tags in self._tagged for tag in tags})]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not (tag := self.value()):
            return queryset
        return queryset.filter(pk__in=[pk for pk, tags in self._tagged if tag in tags])


def tags_html(tags: Iterable[str]) -> str:
    """Return tags, or marks such as `archived`, as HTML badges."""
    return format_html_join(" ", '<span class="sc-tag">{}</span>', ((tag,) for tag in tags))
