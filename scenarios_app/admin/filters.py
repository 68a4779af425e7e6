"""Filters of the lists: by problems, by drafts, and by recent values of the journal."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Max, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from scenarios_app.catalog import catalog
from scenarios_app.catalog.lint import stored_suspicions
from scenarios_app.models import UNMATCHED_ROWS, Draft

_MAX_CHOICES = 20


class ProblemFilter(admin.SimpleListFilter):
    """Filters scenarios with errors, which are not served, or with warnings."""

    title = parameter_name = "problems"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "not served: errors"), ("warnings", "with warnings")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "yes":
                names = {problem.scenario for problem in catalog.problems}
            case "warnings":
                names = {suspicion.scenario for suspicion in stored_suspicions()}
            case _:
                return queryset
        return queryset.filter(name__in=names)


class DraftFilter(admin.SimpleListFilter):
    """Filters the lists of scenarios and drafts: published scenarios without or with a draft, and
    drafts of no published scenario. A choice whose rows are on the other list links there."""

    title = parameter_name = "draft"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        self._of_drafts = model_admin.model is Draft
        published = [("no", "published, no draft"), ("yes", "published, has a draft")]
        return [*published, ("only", "draft only")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case None:
                return queryset
            case "yes" | "no" as value if not self._of_drafts:
                return queryset.filter(draft__isnull=value == "no")
            case "yes" | "only" as value if self._of_drafts:
                return queryset.filter(published__isnull=value == "only")
        return queryset.none()

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Yield the choices; one of them links to the list of the other model."""
        other = "scenario" if self._of_drafts else "draft"
        on_other_list = "no" if self._of_drafts else "only"
        url = reverse(f"admin:scenarios_app_{other}_changelist")
        values = (None, *(value for value, _ in self.lookup_choices))
        for value, choice in zip(values, super().choices(changelist), strict=True):
            if value == on_other_list:
                choice["query_string"] = f"{url}?{self.parameter_name}={value}"
            yield choice


MATCH_PARAMETER, UNMATCHED = "found", "no"


class MatchFilter(admin.SimpleListFilter):
    """Filters by whether a scenario matched; a default answer counts as no match."""

    title = "match"
    parameter_name = MATCH_PARAMETER
    _kinds: ClassVar[dict[str, tuple[str, Q]]] = {
        "yes": ("matched", Q(matched=True, fallback=False)),
        UNMATCHED: ("no scenario matched", UNMATCHED_ROWS),
        "catch-all": ("no scenario matched: default answer", Q(fallback=True)),
        "none": ("no scenario matched: error", UNMATCHED_ROWS & Q(fallback=False)),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, label) for kind, (label, _) in self._kinds.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        kind = self._kinds.get(self.value() or "")
        return queryset.filter(kind[1]) if kind else queryset


class LatestFilter(admin.SimpleListFilter):
    """Filters by a column's value. The choices are its _MAX_CHOICES latest values, and the selected
    one."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        column = self.parameter_name
        rows = model_admin.model._default_manager.order_by().exclude(**{str(column): ""})
        latest = rows.values_list(column).annotate(last=Max("pk")).order_by("-last")[:_MAX_CHOICES]
        values = [str(value) for value, _ in latest]
        if (selected := request.GET.get(str(column))) and selected not in values:
            values.append(selected)
        return [(value, value) for value in values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset.filter(**{str(self.parameter_name): value}) if value else queryset


class SessionFilter(LatestFilter):
    title = parameter_name = "session"


class ProviderFilter(LatestFilter):
    title = parameter_name = "provider"


class AnsweredByFilter(LatestFilter):
    title = parameter_name = "scenario"
