"""Today's traffic by the hour, for the chart on the overview: matched, unmatched and faults."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db.models import CharField, Count, Max, Min, Q
from django.db.models.functions import Cast, Substr
from django.utils import timezone

from scenarios_app.models import UNMATCHED_ROWS, Outcome, ServedRequest

# Of a longer journal, only this many of the newest requests are counted.
MAX_REQUESTS = 100_000
# Units of the chart.
HOUR_WIDTH, HEIGHT, GAP = 10, 60, 2
# Keeps the bar of one request among thousands visible.
MIN_BAR = 1.5

_FAULT = Q(outcome=Outcome.FAULT) | ~Q(fault="")
# `2026-11-23 09:14:07…`; functions for parts of times are slow in SQLite.
_HOUR = Substr(Cast("at", CharField()), 12, 2)


class Bar(NamedTuple):
    """One kind of requests in an hour, in the chart's units from the top left."""

    kind: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Hour:
    """The requests of one hour, each counted once: as unmatched, also if the catch-all answered,
    even if it had a fault."""

    number: int
    matched: int = 0
    unmatched: int = 0
    faults: int = 0

    @property
    def total(self) -> int:
        return self.matched + self.unmatched + self.faults

    @property
    def x(self) -> int:
        """The horizontal position of the hour's bar."""
        return self.number * HOUR_WIDTH

    def bars(self, scale: float) -> Iterator[Bar]:
        """Yield the stacked bars from the bottom up; `scale` is the height of one request."""
        y = float(HEIGHT)
        for kind in ("matched", "faults", "unmatched"):
            if count := getattr(self, kind):
                height = max(count * scale, MIN_BAR)
                y -= height
                yield Bar(kind, round(y, 2), round(height, 2))


@dataclass(frozen=True, slots=True)
class Today:
    """The hours of a day in UTC that had requests, in order. `since` is when the first counted
    request arrived, if any."""

    busy: Sequence[Hour]
    since: datetime | None

    @property
    def most(self) -> int:
        """The requests of the busiest hour; raises ValueError if no hour had requests."""
        return max(hour.total for hour in self.busy)

    @property
    def total(self) -> Hour:
        """Return the sum of all hours."""
        kinds = ("matched", "unmatched", "faults")
        sums = {kind: sum(getattr(hour, kind) for hour in self.busy) for kind in kinds}
        return Hour(0, **sums)

    @property
    def drawn(self) -> list[tuple[Hour, list[Bar]]]:
        """Return each busy hour with its bars."""
        room = HEIGHT - 3 * MIN_BAR
        return [(hour, list(hour.bars(room / self.most))) for hour in self.busy]


def traffic_of_today(now: datetime | None = None) -> Today:
    """Return the requests since the midnight before `now`, by hour; only the newest MAX_REQUESTS of
    the journal are counted."""
    midnight = (now or timezone.now()).replace(hour=0, minute=0, second=0, microsecond=0)
    newest = ServedRequest.objects.aggregate(newest=Max("pk"))["newest"] or 0
    rows = ServedRequest.objects.order_by().filter(pk__gt=newest - MAX_REQUESTS, at__gte=midnight)
    counted = list(
        rows.annotate(hour=_HOUR)
        .values_list("hour")
        .annotate(
            total=Count("pk"),
            unmatched=Count("pk", filter=UNMATCHED_ROWS),
            faults=Count("pk", filter=_FAULT & ~UNMATCHED_ROWS),
            first=Min("at"),
        )
        .order_by("hour")
    )
    busy = [
        Hour(int(hour), total - unmatched - faults, unmatched, faults)
        for hour, total, unmatched, faults, _ in counted
    ]
    return Today(busy, min((first for *_, first in counted), default=None))
