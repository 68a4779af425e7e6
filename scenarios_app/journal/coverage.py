"""Which steps of the enabled scenarios have answered, and which never, as far as the journal
reaches; and how many requests there were."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from scenarios_app.catalog import catalog
from scenarios_app.journal import journal
from scenarios_app.models import UNANSWERED, ServedRequest


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests since a moment; `unmatched` are those that the catch-all answered too."""

    requests: int
    unmatched: int


@dataclass(frozen=True, slots=True)
class Unserved:
    """A scenario with steps that never answered; `steps` are their names or numbers."""

    scenario: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Steps that answered, of all; `unserved` are scenarios in the order of their names."""

    served: int
    steps: int
    unserved: tuple[Unserved, ...]

    @property
    def percent(self) -> int:
        return round(100 * self.served / self.steps) if self.steps else 0


def traffic_since(moment: datetime) -> Traffic:
    journal.flush()
    rows = ServedRequest.objects.filter(at__gte=moment).order_by()
    counted = rows.aggregate(all=Count("pk"), unmatched=Count("pk", filter=UNANSWERED))
    return Traffic(counted["all"], counted["unmatched"])


def coverage() -> Coverage:
    journal.flush()
    rows = ServedRequest.objects.exclude(scenario="").order_by()
    served: defaultdict[str, set[str]] = defaultdict(set)
    for scenario, step in rows.values_list("scenario", "step_key").distinct():
        served[scenario].add(step)
    steps = answered = 0
    unserved = []
    for name, compiled in sorted(catalog.snapshot().index.by_name.items()):
        missing = tuple(step.label for step in compiled.steps if step.key not in served[name])
        steps += len(compiled.steps)
        answered += len(compiled.steps) - len(missing)
        if missing:
            unserved.append(Unserved(name, missing))
    return Coverage(answered, steps, tuple(unserved))
