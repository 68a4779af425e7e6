"""The list of scenarios: steps, answers, tags, errors and warnings of each."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Lower
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import pluralize
from django.template.response import TemplateResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe
from django.utils.text import smart_split, unescape_string_literal
from unfold.admin import ModelAdmin

from mockllm_site.kit.admin.records import TagFilter, column
from mockllm_site.kit.permissions import require_permissions
from scenarios_app.admin.effects import reports_effects
from scenarios_app.admin.filters import DraftFilter, ProblemFilter
from scenarios_app.admin.journal.requests import answered_by_scenario
from scenarios_app.admin.pages import find_row
from scenarios_app.admin.scenarios import actions
from scenarios_app.admin.scenarios.actions import StepsForm, bulk_action
from scenarios_app.admin.scenarios.groups import (
    GroupFilter,
    GroupForm,
    TagsForm,
    group_order,
    pop_group_choices,
    tag_chips,
)
from scenarios_app.admin.scenarios.trash_page import deletion_context, report_deletion
from scenarios_app.catalog import catalog
from scenarios_app.catalog.lint import stored_suspicions
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError
from scenarios_app.engine.matching.lint import Suspicion
from scenarios_app.journal import journal
from scenarios_app.journal.coverage import answer_counts
from scenarios_app.models import AnyStep, Draft, Scenario, Step
from scenarios_app.store import RowProblem, own_document
from scenarios_app.store.trash import erase_expired
from scenarios_app.templatetags.scenarios_admin import ago


def number_of_steps(model: type[AnyStep]) -> Coalesce:
    """Return the SQL expression that counts the steps of each scenario. It is a subquery, because a
    search joins the steps too, which would multiply a `Count` in the same query."""
    steps = model.objects.filter(scenario=OuterRef("pk")).order_by().values("scenario")
    return Coalesce(Subquery(steps.annotate(number=Count("pk")).values("number")), 0)


def search_documents(
    owner: Any, request: HttpRequest, queryset: QuerySet[Any], search_term: str
) -> tuple[QuerySet[Any], bool]:
    """Return the scenarios or drafts with all words of a search in the texts of their documents, in
    any letter case, and that no row is repeated. It replaces `ModelAdmin.get_search_results`."""
    words = [
        unescape_string_literal(word) if word[0] in "\"'" and word[0] == word[-1] else word
        for word in smart_split(search_term)
    ]
    if not words:
        return queryset, False
    found = [
        row.pk
        for row in queryset.prefetch_related("steps")
        if has_words([own_document(row), *(step.document for step in row.steps.all())], words)
    ]
    return queryset.filter(pk__in=found), False


def has_words(document: Json, words: Sequence[str]) -> bool:
    """Return whether each word is in a text of a document, which the role of a message is not."""
    texts = [text.casefold() for text in _texts_in(document)]
    return all(any(word.casefold() in text for text in texts) for word in words)


def _texts_in(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key != "role":
                yield from _texts_in(inner)


_SWITCHED = {True: "Enabled", False: "Disabled"}


class ScenarioList(ModelAdmin):
    """The list of published scenarios, its actions, and deletion; a base of `ScenarioAdmin`."""

    list_display = (
        "title",
        "switch",
        "priority",
        "step_count",
        "answers",
        "last_used",
        "tag_list",
        "problem_count",
    )
    list_filter = (GroupFilter, "enabled", DraftFilter, ProblemFilter, "select", TagFilter)
    list_before_template = "scenarios_app/admin/groups.html"
    # Not empty, so that the list has a search.
    search_fields = ("name",)
    get_search_results = search_documents
    ordering = ("-priority", Lower("name"))
    list_per_page = 50
    actions = (
        "enable",
        "disable",
        "move_to_group",
        "set_tags",
        "set_on_steps",
        "duplicate",
        "export",
        "delete_selected",
    )

    move_to_group = bulk_action(GroupForm)
    set_tags = bulk_action(TagsForm)
    set_on_steps = bulk_action(StepsForm)
    step_count = column("Steps", attrgetter("steps_in_it"), ordering="steps_in_it")
    last_used = column("Last used", lambda row: ago(row.hits.last) if row.hits.last else "never")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Scenario]:
        return super().get_queryset(request).annotate(steps_in_it=number_of_steps(Step))

    @reports_effects
    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list with current counts and the problems of scenario files."""
        # Before the transaction that saves the list, which the journal's writer would wait for.
        journal.flush()
        context = {**(extra_context or {}), "file_problems": catalog.file_problems}
        return super().changelist_view(request, context)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Add to each listed row its answers, served steps, problems, warnings and draft."""
        changelist = super().get_changelist_instance(request)
        names = [row.name for row in changelist.result_list]
        hits, steps = answered_by_scenario(names), answer_counts(names)
        compiled = catalog.snapshot().index.by_name
        problems: defaultdict[str, list[RowProblem]] = defaultdict(list)
        for problem in catalog.problems:
            problems[problem.scenario].append(problem)
        warnings: defaultdict[str, list[Suspicion]] = defaultdict(list)
        for suspicion in stored_suspicions():
            warnings[suspicion.scenario].append(suspicion)
        drafted = set(Draft.objects.values_list("published", flat=True))
        may_change = self.has_change_permission(request)
        for row in changelist.result_list:
            row.can_be_switched = may_change
            row.drafted = row.pk in drafted
            row.hits = hits[row.name]
            stored = compiled[row.name].steps if row.name in compiled else ()
            row.served_steps = sum(1 for step in stored if steps[row.name].get(step.key))
            row.problems = problems[row.name]
            row.warnings = warnings[row.name]
        vars(changelist)["groups"] = pop_group_choices(changelist)
        return changelist

    @admin.display(description="Name", ordering=Lower("name"))
    def title(self, scenario: Any) -> str:
        """Return the name, a mark if there is a draft, and the first line of the description."""
        description = str(own_document(scenario).get("description", ""))
        return format_html(
            '{} <span class="sc-tag">{}</span><span class="sc-under">{}</span>',
            scenario.name,
            "draft" if scenario.drafted else "",
            description.strip().partition("\n")[0],
        )

    @admin.display(description="Enabled", ordering="enabled")
    def switch(self, scenario: Any) -> str:
        """Return a switch that saves itself, or a word for users who may not change scenarios."""
        if not scenario.can_be_switched:
            return "yes" if scenario.enabled else "no"
        return format_html(
            '<input type="checkbox" class="sc-switch" role="switch" aria-label="Enable {}" '
            'name="enabled-{}" hx-post="{}/switch/"{}>',
            *(scenario.name, scenario.pk, scenario.pk),
            mark_safe(" checked") if scenario.enabled else "",
        )

    @admin.display(description="Answers")
    def answers(self, scenario: Any) -> str:
        """Return the number of answers, and a bar of the steps that have answered."""
        served, of = scenario.served_steps, scenario.steps_in_it
        return format_html(
            '{} <progress class="sc-progress" max="{}" value="{}" title="{} of {} steps answered" '
            'aria-label="Steps that have answered"></progress>',
            *(scenario.hits.count, max(of, 1), served, served, of),
        )

    @admin.display(description="Group, tags", ordering=group_order(), empty_value="")
    def tag_list(self, scenario: Any) -> str:
        return tag_chips(scenario.tags)

    @admin.display(description="Problems", empty_value="")
    def problem_count(self, scenario: Any) -> str:
        """Return a badge with the number of errors, or of warnings if there are no errors."""
        if scenario.problems:
            return _count_badge(scenario.problems, "problem", style="sc-bad")
        return _count_badge(scenario.warnings, "warning", style="sc-doubt")

    def switch_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Enable a scenario if its switch is on in the posted form, else disable it. Return the
        messages, such as the effects on others, as HTML. Raises MissingPermission and Http404."""
        require_permissions(request, "scenarios_app.change_scenario")
        if (scenario := find_row(Scenario, object_id)) is None:
            raise Http404
        self._post_switch(request, scenario)
        texts = ((message,) for message in messages.get_messages(request))
        return HttpResponse(format_html_join("", "{}", texts))

    @reports_effects
    def _post_switch(self, request: HttpRequest, scenario: Scenario) -> HttpResponse:
        """Save the posted switch of a scenario, and log its change."""
        enabled = f"enabled-{scenario.pk}" in request.POST
        if actions.set_column([scenario], "enabled", lambda _: enabled):
            self.log_change(request, scenario, f"{_SWITCHED[enabled]}.")
        return HttpResponse()

    @admin.action(description="Enable", permissions=["change"])
    def enable(self, request: HttpRequest, scenarios: QuerySet[Scenario]) -> None:
        self._set_enabled(request, scenarios, enabled=True)

    @admin.action(description="Disable", permissions=["change"])
    def disable(self, request: HttpRequest, scenarios: QuerySet[Scenario]) -> None:
        self._set_enabled(request, scenarios, enabled=False)

    @admin.action(description="Duplicate", permissions=["add"])
    def duplicate(self, request: HttpRequest, scenarios: QuerySet[Scenario]) -> None:
        try:
            copies = actions.duplicate(scenarios)
        except DocumentError as error:
            return actions.report_document_error(request, error, "Nothing was duplicated")
        for copy in copies:
            self.log_addition(request, copy, "Duplicated.")
        names = ", ".join(f"“{copy}”" for copy in copies)
        return messages.success(request, f"Created {names}, disabled until you enable them.")

    @admin.action(description="Export as documents (JSON)", permissions=["view"])
    def export(self, request: HttpRequest, scenarios: QuerySet[Scenario]) -> HttpResponse | None:
        try:
            return actions.export(scenarios.prefetch_related("steps"))
        except DocumentError as error:
            actions.report_document_error(request, error, "Nothing was exported")
            return None

    @admin.action(description="Delete", permissions=["delete"])
    def delete_selected(
        self, request: HttpRequest, scenarios: QuerySet[Scenario]
    ) -> TemplateResponse | None:
        """Show what would be deleted, with recent traffic; a confirmation deletes it."""
        names = list(scenarios.values_list("name", flat=True))
        page = delete_selected(self, request, scenarios)
        if page is not None:
            page.context_data = (page.context_data or {}) | deletion_context(names)
        return page

    @reports_effects
    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show what would be deleted, with recent traffic; a post deletes it."""
        journal.flush()
        scenario = self.get_object(request, unquote(object_id))
        more = deletion_context([scenario.name]) if scenario else {}
        return super().delete_view(request, object_id, {**(extra_context or {}), **more})

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: int) -> HttpResponse:
        report_deletion(request, obj_display)
        return redirect("admin:scenarios_app_scenario_changelist")

    def delete_model(self, request: HttpRequest, obj: Scenario) -> None:
        """Delete a scenario and its progress in sessions; remove expired ones from the trash."""
        actions.forget_on_commit([obj.name])
        super().delete_model(request, obj)
        erase_expired()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Scenario]) -> None:
        """Delete scenarios and their progress in sessions; remove expired ones from the trash."""
        actions.forget_on_commit(list(queryset.values_list("name", flat=True)))
        super().delete_queryset(request, queryset)
        erase_expired()

    def _set_enabled(
        self, request: HttpRequest, scenarios: QuerySet[Scenario], *, enabled: bool
    ) -> None:
        """Enable or disable the scenarios and report how many changed."""
        changed = actions.set_column(scenarios, "enabled", lambda _: enabled)
        word = _SWITCHED[enabled]
        for scenario in changed:
            self.log_change(request, scenario, f"{word}.")
        messages.success(request, f"{word} {len(changed)} of {len(scenarios)}.")


def _count_badge(problems: Sequence[RowProblem | Suspicion], noun: str, *, style: str) -> str:
    """Return a badge with the number of problems and a tooltip with their texts; empty for none."""
    if not problems:
        return ""
    tooltip = "\n".join(map(str, problems))
    count = f"{len(problems)} {noun}{pluralize(len(problems))}"
    return format_html('<span class="{}" title="{}">{}</span>', style, tooltip, count)
