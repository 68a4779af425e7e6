"""Counts requests and the answers of steps, also in rows that have left the journal."""

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from scenarios_app.catalog import catalog
from scenarios_app.journal import journal
from scenarios_app.models import UNMATCHED_ROWS, PastAnswers, ServedRequest


@dataclass(frozen=True, slots=True)
class Traffic:
    """Counts of requests since a moment; `unmatched` includes those that the catch-all answered."""

    requests: int
    unmatched: int


@dataclass(frozen=True, slots=True)
class Unserved:
    """A scenario with steps that never answered; `steps` are their names or numbers, `of` is how
    many it has."""

    scenario: str
    steps: tuple[str, ...]
    of: int

    @property
    def served(self) -> int:
        """The number of steps that answered."""
        return self.of - len(self.steps)


@dataclass(frozen=True, slots=True)
class Coverage:
    """The number of all `steps`, and of those that answered (`served`); `unserved` are the
    scenarios with other steps, by name."""

    served: int
    steps: int
    unserved: tuple[Unserved, ...]

    @property
    def percent(self) -> int:
        """The part of the steps that answered, in whole percent; 0 without steps."""
        return round(100 * self.served / self.steps) if self.steps else 0


def count_requests_since(moment: datetime) -> Traffic:
    """Return how many requests in the journal came since a moment, and how many of them had no
    matching step; flush the journal first."""
    journal.flush()
    rows = ServedRequest.objects.filter(at__gte=moment).order_by()
    counted = rows.aggregate(all=Count("pk"), unmatched=Count("pk", filter=UNMATCHED_ROWS))
    return Traffic(counted["all"], counted["unmatched"])


def answer_counts(scenarios: Collection[str] | None = None) -> dict[str, dict[str, int]]:
    """Return how often each step answered, by scenario and step key, also in requests that have
    left the journal; of these scenarios or of all. A scenario without answers has an empty dict."""
    rows = ServedRequest.objects.exclude(scenario="").order_by()
    past = PastAnswers.objects.all()
    if scenarios is not None:
        rows, past = rows.filter(scenario__in=scenarios), past.filter(scenario__in=scenarios)
    by_scenario: defaultdict[str, Counter[str]] = defaultdict(Counter)
    counts = rows.values_list("scenario", "step_key").annotate(Count("pk"))
    for scenario, step, count in (*counts, *past.values_list("scenario", "step_key", "count")):
        by_scenario[scenario][step] += count
    return defaultdict(dict, {name: dict(counts) for name, counts in by_scenario.items()})


def coverage() -> Coverage:
    """Return which steps of the enabled scenarios answered, also requests that have left the
    journal; flushes the journal first."""
    journal.flush()
    served = answer_counts()
    steps = answered = 0
    unserved = []
    for name, compiled in sorted(catalog.snapshot().index.by_name.items()):
        missing = tuple(step.label for step in compiled.steps if step.key not in served[name])
        steps += len(compiled.steps)
        answered += len(compiled.steps) - len(missing)
        if missing:
            unserved.append(Unserved(name, missing, len(compiled.steps)))
    return Coverage(answered, steps, tuple(unserved))
