"""Admin pages that only show: what programs recorded is not for people to change."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Model
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.admin import ModelAdmin, TabularInline

EXCERPT = 80
# Who gave an answer of a comparison that is still to be voted on.
HIDDEN = "hidden until the vote"


class _ReadOnly:
    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyAdmin(_ReadOnly, ModelAdmin):
    """A list, and a page for each row."""

    actions: Sequence[str] | None = None
    show_full_result_count = False
    # Columns that no address may ask for: what is not shown yet is not found out by filtering.
    untold: Sequence[str] = ()

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        if lookup.split("__")[0] in self.untold:
            return False
        allowed: bool = super().lookup_allowed(lookup, value, request)
        return allowed


class ReadOnlyInline(_ReadOnly, TabularInline):
    """Rows on the page of what they belong to."""

    extra = 0
    max_num = 0
    can_delete = False
    per_page = 50


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
    return "–" if time is None else f"{time:%Y-%m-%d %H:%M:%S}.{time.microsecond // 1000:03}"


def excerpt(text: str) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1]}…"


def page_of(row: Model) -> str:
    """The name of a row's page in the admin, for `reverse`."""
    return f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
