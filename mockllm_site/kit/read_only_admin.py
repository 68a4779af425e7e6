"""Admin pages of records: what programs wrote is shown, what staff think is written beside it; tags
are shown and filtered by."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import flatten_fieldsets
from django.db.models import Model, QuerySet, TextField
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from unfold.admin import ModelAdmin, TabularInline
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from mockllm_site.kit.fields import NamesField

EXCERPT = 80
# Who gave an answer of a comparison that is still to be voted on.
HIDDEN = "hidden until the vote"


class RecordAdmin(ModelAdmin):
    """What programs recorded: a list, and a page for each row. Of its columns staff may write the
    `editable` ones and no other; rows come from programs alone, and stay unless they are
    `deletable`."""

    actions: Sequence[str] | None = None
    show_full_result_count = False
    editable: Sequence[str] = ()
    deletable = False
    # Columns that no address may ask for: what is not shown yet is not found out by filtering.
    untold: Sequence[str] = ()
    formfield_overrides: Mapping[Any, Any] = MappingProxyType(
        {
            NamesField: {"widget": UnfoldAdminTextInputWidget},
            TextField: {"widget": UnfoldAdminTextareaWidget({"rows": 3})},
        }
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(self.editable) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.deletable and super().has_delete_permission(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        shown = flatten_fieldsets(self.get_fieldsets(request, obj))
        return [name for name in shown if name not in self.editable]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Write nothing but what was changed: a program may be writing the rest."""
        obj.save(update_fields=form.changed_data)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What is asked before a deletion: of its parts, which may be thousands, the numbers."""
        listed, *rest = super().get_deleted_objects(objs, request)
        return [one for one in listed if not isinstance(one, list)], *rest

    def set_on(
        self, request: HttpRequest, rows: QuerySet[Any], *, said: str, **column: Any
    ) -> None:
        """Set a column on the chosen rows; each one's history says what was done."""
        changed = list(rows.exclude(**column))
        self.model._default_manager.filter(pk__in=[row.pk for row in changed]).update(**column)
        for row in changed:
            self.log_change(request, row, f"{said}.")
        messages.success(request, f"{said}: {len(changed)} of {len(rows)}.")

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        if lookup.split("__")[0] in self.untold:
            return False
        allowed: bool = super().lookup_allowed(lookup, value, request)
        return allowed


class ReadOnlyInline(TabularInline):
    """Rows on the page of what they belong to."""

    extra = 0
    max_num = 0
    # Its columns say what the row is; a column links to the row's page where it has one.
    hide_title = True
    can_delete = False
    per_page = 50

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def link(url: str, text: object) -> str:
    return format_html('<a class="sc-link" href="{}">{}</a>', url, text)


def preformatted(text: str) -> str:
    """A text with its line breaks. It is a model's or a user's: text on every page."""
    return format_html('<pre class="sc-pre" tabindex="0">{}</pre>', text) if text else "–"


def as_json(value: Any, *, indent: int | None = 2) -> str:
    """JSON to be read. What a database has by another hand may be half of a surrogate pair."""
    if not value:
        return "–"
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return preformatted(text.encode("utf-8", "backslashreplace").decode())


def moment(time: datetime | None) -> str:
    """A time to the millisecond, in UTC."""
    if time is None:
        return "–"
    return f"{time:%Y-%m-%d %H:%M:%S}.{time.microsecond // 1000:03} UTC"


def excerpt(text: str) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1]}…"


def page_of(row: Model) -> str:
    """The name of a row's page in the admin, for `reverse`."""
    return f"admin:{row._meta.app_label}_{row._meta.model_name}_change"


class TagFilter(admin.SimpleListFilter):
    """By the tags that rows of the list's model have, in a column `tags`."""

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


def chips(tags: Iterable[str]) -> str:
    return format_html_join(" ", '<span class="sc-tag">{}</span>', ((tag,) for tag in tags))
