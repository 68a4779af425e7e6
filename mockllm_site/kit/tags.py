"""Tags in the lists of the admin: shown, and filtered by."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join


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
