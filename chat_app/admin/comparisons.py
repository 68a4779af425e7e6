"""Comparisons in the admin: comment on them, exclude them from the ranking. Votes are read-only;
profiles are hidden until the vote, as everywhere."""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from chat_app.comparisons import BRANCHES, profile_names
from chat_app.models import ABComparison, Message, Preference, Sender
from mockllm_site.kit.read_only_admin import HIDDEN, RecordAdmin, column, row_link, tags_html


class PreferenceFilter(admin.SimpleListFilter):
    title = "preference"
    parameter_name = "preference"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            *((str(value), str(label)) for value, label in Preference.choices),
            ("open", "none"),
        ]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[ABComparison]
    ) -> QuerySet[ABComparison]:
        value = self.value()
        if value is None:
            return queryset
        return queryset.filter(preference="" if value == "open" else value)


@admin.register(ABComparison)
class ComparisonAdmin(RecordAdmin):
    editable = ("comment", "excluded")
    list_display = ("created_at", "conversation", "voted", "answer_a", "answer_b", "ranking")
    list_filter = (PreferenceFilter, "excluded")
    actions = ("exclude_from_ranking", "include_in_ranking")
    unfilterable = ("profile_a", "profile_a_name", "profile_b", "profile_b_name", "seed")
    list_select_related = ("conversation",)
    search_fields = ("id", "conversation__id", "conversation__title", "comment")
    ordering = ("-created_at",)
    change_form_before_template = "chat_app/admin/comparison.html"
    fields = (*editable, "conversation_link", ("created_at", "preference_at"), "id")
    ranking = column(
        "Ranking", lambda row: tags_html(["excluded"] if row.excluded else []), ordering="excluded"
    )
    voted = column(
        "Preference", lambda row: row.get_preference_display() or "–", ordering="preference"
    )
    answer_a = column("A", lambda row: row.profile_a_name if row.preference else HIDDEN)
    answer_b = column("B", lambda row: row.profile_b_name if row.preference else HIDDEN)
    conversation_link = column("Conversation", lambda row: row_link(row.conversation))

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kw: Any) -> Any:
        """Render the form with both answers of the comparison in the template's context."""
        if (comparison := kw.get("obj")) is not None:
            context |= {"sides": list(_comparison_sides(comparison)), "hidden": HIDDEN}
        return super().render_change_form(request, context, *args, **kw)

    @admin.action(description="Exclude from the ranking", permissions=["change"])
    def exclude_from_ranking(self, request: HttpRequest, rows: QuerySet[ABComparison]) -> None:
        self.update_rows(request, rows, excluded=True, label="Excluded from the ranking")

    @admin.action(description="Include in the ranking", permissions=["change"])
    def include_in_ranking(self, request: HttpRequest, rows: QuerySet[ABComparison]) -> None:
        self.update_rows(request, rows, excluded=False, label="Included in the ranking")


def _comparison_sides(comparison: ABComparison) -> Iterator[dict[str, Any]]:
    """Yield both answers for the template, `a` first; `profile` is empty until the vote, and
    `trace` and `message` may be None."""
    question = comparison.user_message
    later = Message.objects.filter(
        conversation=comparison.conversation_id, number__gt=question.number
    ).order_by("number")
    # Two at most: the next message of the user ends the comparison.
    answers = takewhile(lambda message: message.sender == Sender.ASSISTANT, later[: len(BRANCHES)])
    messages = {message.branch: message for message in answers}
    names = profile_names(comparison)
    for branch in BRANCHES:
        yield {
            "branch": branch,
            "preferred": comparison.preference == branch,
            "profile": names[branch] if comparison.preference else "",
            "trace": getattr(comparison, f"trace_{branch}"),
            "message": messages.get(branch),
        }
