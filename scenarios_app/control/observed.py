"""Which conditions of steps the journal's requests meet, looked at before they leave it."""

from datetime import UTC, datetime

from django.db.models import QuerySet

from scenarios_app.catalog import catalog
from scenarios_app.control.matches import COLUMNS, newest_first, read_again
from scenarios_app.models import ServedRequest
from scenarios_app.serving.services import services
from scenarios_app.verdict.coverage import holding, unmet


def since_begin(rows: QuerySet[ServedRequest]) -> QuerySet[ServedRequest]:
    """Those of the rows that the run's coverage is about."""
    return rows.filter(at__gte=datetime.fromtimestamp(services().steps.since, UTC))


def observe(rows: QuerySet[ServedRequest]) -> None:
    """Note which conditions these requests meet, of common scenarios and of those that sessions
    have, or had, as their own."""
    here = services()
    seen = here.steps.seen()
    scenarios = {**here.steps.known(), **catalog.snapshot().index.by_name}
    wanted = dict(unmet(scenarios.values(), seen.served, seen.met))
    if not wanted:
        return
    for row in newest_first(since_begin(rows).only(*COLUMNS)):
        request = None if row.request_cut else read_again(row, here.pipeline.options)
        if request is None or not (row.way or row.matched):
            continue
        met = list(holding(wanted.items(), request))
        here.steps.meet(met)
        for named in met:
            del wanted[named]
        if not wanted:
            return
