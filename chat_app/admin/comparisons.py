"""Comparisons in the admin: add, change and delete them and their votes, comment on them, exclude
them from the ranking. Profiles are hidden until the vote, as everywhere."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from chat_app.comparisons import BRANCHES, profile_names
from chat_app.conversations import why_locked
from chat_app.models import ABComparison, Message, Preference, Sender
from mockllm_site.kit.admin.record_edits import EditableRecordAdmin, RecordForm
from mockllm_site.kit.admin.records import HIDDEN, column, row_link, tags_html
from traces_app.models import Status


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


class ComparisonForm(RecordForm):
    """A comparison of two answers to one question, and its vote."""

    class Meta:
        model = ABComparison
        fields = "__all__"
        help_texts: ClassVar = {
            "user_message": "The question; two answers, A and B, have to follow it.",
            "profile_a": "The profile that gave answer A.",
            "profile_b": "The profile that gave answer B.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for branch in BRANCHES:
            if (field := self.fields.get(f"profile_{branch}")) is not None:
                field.required = True

    def check_record(self, cleaned: dict[str, Any]) -> None:
        """Set what follows from the question; add errors for one without two answers, and for a
        vote for an answer that failed."""
        comparison, question = self.instance, cleaned.get("user_message")
        if comparison._state.adding and question is not None:
            if set(answers_of(question)) != set(BRANCHES):
                self.add_error("user_message", "Answers A and B have to follow this message.")
            if reason := why_locked(question.conversation_id, writing=True):
                self.add_error("user_message", reason)
            comparison.conversation = question.conversation
            for branch, message in answers_of(question).items():
                setattr(comparison, f"trace_{branch}", getattr(message, "trace", None))
        vote = cleaned.get("preference", "")
        trace = getattr(comparison, f"trace_{vote}") if vote in BRANCHES else None
        if trace is not None and trace.status != Status.COMPLETED:
            self.add_error("preference", f"Answer {vote.upper()} did not succeed.")


@admin.register(ABComparison)
class ComparisonAdmin(EditableRecordAdmin):
    form = ComparisonForm
    editable = ("comment", "excluded")
    recorded = ("preference",)
    added_only = ("user_message", "profile_a", "profile_b")
    autocomplete_fields = ("user_message",)
    new_fields = ("user_message", ("profile_a", "profile_b"), "preference", *editable)
    list_display = (
        "created_at", "conversation", "voted", "answer_a", "answer_b", "ranking", "edited",
    )  # fmt: skip
    list_filter = (PreferenceFilter, "excluded")
    actions = ("exclude_from_ranking", "include_in_ranking")
    unfilterable = ("profile_a", "profile_a_name", "profile_b", "profile_b_name", "seed")
    list_select_related = ("conversation",)
    search_fields = ("id", "conversation__id", "conversation__title", "comment")
    ordering = ("-created_at",)
    change_form_before_template = "chat_app/admin/comparison.html"
    fields = (
        "preference", *editable, "conversation_link", ("created_at", "preference_at"),
        "edited_time", "id",
    )  # fmt: skip
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
        if (comparison := kw.get("obj")) is not None and comparison.pk and not kw.get("add"):
            context |= {"sides": list(_comparison_sides(comparison)), "hidden": HIDDEN}
        return super().render_change_form(request, context, *args, **kw)

    def lock(self, row: ABComparison, *, writing: bool) -> str:
        return why_locked(row.conversation_id, writing=writing)

    def save_model(self, request: HttpRequest, obj: ABComparison, form: Any, change: bool) -> None:
        """Save; a new comparison stores the names of its profiles, and a vote its time."""
        if not change:
            obj.seed = 0
            obj.profile_a_name = str(obj.profile_a)
            obj.profile_b_name = str(obj.profile_b)
        if "preference" in form.changed_data:
            obj.preference_at = timezone.now() if obj.preference else None
        super().save_model(request, obj, form, change)

    def update_derived(self, row: ABComparison, changed: Sequence[str]) -> Sequence[str]:
        return ("preference_at",) if "preference" in changed else ()

    @admin.action(description="Exclude from the ranking", permissions=["change"])
    def exclude_from_ranking(self, request: HttpRequest, rows: QuerySet[ABComparison]) -> None:
        self.update_rows(request, rows, excluded=True, label="Excluded from the ranking")

    @admin.action(description="Include in the ranking", permissions=["change"])
    def include_in_ranking(self, request: HttpRequest, rows: QuerySet[ABComparison]) -> None:
        self.update_rows(request, rows, excluded=False, label="Included in the ranking")


def _comparison_sides(comparison: ABComparison) -> Iterator[dict[str, Any]]:
    """Yield both answers for the template, `a` first; `profile` is empty until the vote, and
    `trace` and `message` may be None."""
    messages = answers_of(comparison.user_message)
    names = profile_names(comparison)
    for branch in BRANCHES:
        yield {
            "branch": branch,
            "preferred": comparison.preference == branch,
            "profile": names[branch] if comparison.preference else "",
            "trace": getattr(comparison, f"trace_{branch}"),
            "message": messages.get(branch),
        }


def answers_of(question: Message) -> dict[str, Message]:
    """Return the answers of a comparison by branch."""
    later = Message.objects.filter(
        conversation=question.conversation_id, number__gt=question.number
    ).order_by("number")
    # Two at most: the next message of the user ends the comparison.
    answers = takewhile(lambda message: message.sender == Sender.ASSISTANT, later[: len(BRANCHES)])
    return {message.branch: message for message in answers}
