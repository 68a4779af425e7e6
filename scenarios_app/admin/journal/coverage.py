"""How often scenarios and steps have answered, counted in the journal as far as it reaches."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max

from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest


@dataclass(frozen=True, slots=True)
class Hits:
    count: int = 0
    last: datetime | None = None


NONE = Hits()


def scenario_hits(names: Collection[str]) -> dict[str, Hits]:
    """By name; a scenario that has answered nothing is not in it."""
    journal.flush()
    rows = ServedRequest.objects.filter(scenario__in=names).order_by()
    # Both numbers come out of the index alone, without a look at any row.
    counted = list(rows.values_list("scenario").annotate(Count("pk"), Max("pk")))
    last = ServedRequest.objects.filter(pk__in=[pk for _, _, pk in counted])
    times = dict(last.order_by().values_list("pk", "at"))
    return {name: Hits(count, times.get(pk)) for name, count, pk in counted}


def step_hits(scenario: str) -> dict[str, int]:
    """Answers of a scenario's steps, by the steps' keys."""
    journal.flush()
    rows = ServedRequest.objects.filter(scenario=scenario).order_by()
    return dict(rows.values_list("step_key").annotate(Count("pk")))
