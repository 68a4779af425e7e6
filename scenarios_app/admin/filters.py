"""The filters of the lists: by problems, by drafts, and by what the journal has seen lately."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Max, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from scenarios_app.catalog import catalog
from scenarios_app.catalog.lint import stored_suspicions
from scenarios_app.engine.matching.lint import Suspicion
from scenarios_app.models import UNANSWERED, Draft
from scenarios_app.store import RowProblem

_LATEST = 20


class ProblemFilter(admin.SimpleListFilter):
    title = "problems"
    parameter_name = "problems"

    def lookups(
        self, request: HttpRequest, model_admin: "ModelAdmin[Any]"
    ) -> list[tuple[str, str]]:
        return [("yes", "not served: errors"), ("warnings", "with warnings")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        found: Iterable[RowProblem | Suspicion]
        match self.value():
            case "yes":
                found = catalog.problems
            case "warnings":
                found = stored_suspicions()
            case _:
                return queryset
        return queryset.filter(name__in={one.scenario for one in found})


class DraftFilter(admin.SimpleListFilter):
    """On both lists, of scenarios and of drafts: a choice of rows that are on the other one leads
    there."""

    title = "draft"
    parameter_name = "draft"

    def lookups(
        self, request: HttpRequest, model_admin: "ModelAdmin[Any]"
    ) -> list[tuple[str, str]]:
        self._of_drafts = model_admin.model is Draft
        return [
            ("no", "published, no draft"),
            ("yes", "published, has a draft"),
            ("only", "draft only"),
        ]

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
        other = "scenario" if self._of_drafts else "draft"
        elsewhere = "no" if self._of_drafts else "only"
        url = reverse(f"admin:scenarios_app_{other}_changelist")
        values = (None, *(value for value, _ in self.lookup_choices))
        for value, choice in zip(values, super().choices(changelist), strict=True):
            if value == elsewhere:
                choice["query_string"] = f"{url}?{self.parameter_name}={value}"
            yield choice


FOUND, UNANSWERED_BY_ALL = "found", "no"


class FoundFilter(admin.SimpleListFilter):
    """Whether a scenario matched; an answer of the catch-all counts as none."""

    title = "match"
    parameter_name = FOUND
    _kinds: ClassVar[dict[str, tuple[str, Q]]] = {
        "yes": ("matched", Q(matched=True, fallback=False)),
        UNANSWERED_BY_ALL: ("no scenario matched", UNANSWERED),
        "catch-all": ("no scenario matched: default answer", Q(fallback=True)),
        "none": ("no scenario matched: error", UNANSWERED & Q(fallback=False)),
    }

    def lookups(
        self, request: HttpRequest, model_admin: "ModelAdmin[Any]"
    ) -> list[tuple[str, str]]:
        return [(kind, label) for kind, (label, _) in self._kinds.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        kind = self._kinds.get(self.value() or "")
        return queryset.filter(kind[1]) if kind else queryset


class LatestFilter(admin.SimpleListFilter):
    """The values of a column that came last, and the one that is asked for."""

    def lookups(
        self, request: HttpRequest, model_admin: "ModelAdmin[Any]"
    ) -> list[tuple[str, str]]:
        column = self.parameter_name
        rows = model_admin.model._default_manager.order_by().exclude(**{str(column): ""})
        found = rows.values_list(column).annotate(last=Max("pk")).order_by("-last")[:_LATEST]
        values = [str(value) for value, _ in found]
        if (asked := request.GET.get(str(column))) and asked not in values:
            values.append(asked)
        return [(value, value) for value in values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return (
            queryset.filter(**{str(self.parameter_name): self.value()})
            if self.value()
            else queryset
        )


class SessionFilter(LatestFilter):
    title = "session"
    parameter_name = "session"


class ProviderFilter(LatestFilter):
    title = "provider"
    parameter_name = "provider"


class AnsweredByFilter(LatestFilter):
    title = "scenario"
    parameter_name = "scenario"
