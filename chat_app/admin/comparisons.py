"""Comparisons in the admin. Who answered is told after the vote, here as anywhere."""

from collections.abc import Sequence

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from chat_app.models import ABComparison, Preference
from mockllm_site.read_only import HIDDEN, ReadOnlyAdmin, link, page_of
from traces_app.models import Trace

_OPEN = "open"


class PreferenceFilter(admin.SimpleListFilter):
    title = "preference"
    parameter_name = "preference"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[ABComparison]"
    ) -> list[tuple[str, str]]:
        return [*((str(value), str(label)) for value, label in Preference.choices), (_OPEN, "none")]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[ABComparison]
    ) -> QuerySet[ABComparison]:
        match self.value():
            case None:
                return queryset
            case "open":
                return queryset.filter(preference="")
            case preference:
                return queryset.filter(preference=preference)


@admin.register(ABComparison)
class ComparisonAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "conversation", "voted", "answer_a", "answer_b")
    list_filter = (PreferenceFilter,)
    untold = ("profile_a", "profile_a_name", "profile_b", "profile_b_name", "seed")
    list_select_related = ("conversation",)
    search_fields = ("id", "conversation__id", "conversation__title")
    ordering = ("-created_at",)
    fields = (
        "conversation_link",
        "voted",
        ("answer_a", "answer_b"),
        "trace_a_link",
        "trace_b_link",
        "id",
        ("created_at", "preference_at"),
    )
    readonly_fields: Sequence[str] = (
        "conversation_link", "voted", "answer_a", "answer_b", "trace_a_link", "trace_b_link",
    )  # fmt: skip

    @admin.display(description="Preference", ordering="preference")
    def voted(self, comparison: ABComparison) -> str:
        return comparison.get_preference_display() or "–"

    @admin.display(description="A")
    def answer_a(self, comparison: ABComparison) -> str:
        return comparison.profile_a_name if comparison.preference else HIDDEN

    @admin.display(description="B")
    def answer_b(self, comparison: ABComparison) -> str:
        return comparison.profile_b_name if comparison.preference else HIDDEN

    @admin.display(description="Conversation")
    def conversation_link(self, comparison: ABComparison) -> str:
        row = comparison.conversation
        return link(reverse(page_of(row), args=(row.pk,)), row)

    @admin.display(description="Trace of A")
    def trace_a_link(self, comparison: ABComparison) -> str:
        return _link(comparison.trace_a)

    @admin.display(description="Trace of B")
    def trace_b_link(self, comparison: ABComparison) -> str:
        return _link(comparison.trace_b)


def _link(trace: Trace | None) -> str:
    return "–" if trace is None else link(reverse(page_of(trace), args=(trace.pk,)), trace.pk)
