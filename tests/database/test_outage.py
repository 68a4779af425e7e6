"""PostgreSQL goes away while requests are answered: the journal has every one of them later."""

from pathlib import Path

from scenarios_app.journal import ENTRY_BYTES
from tools.load.outage import outage

BEFORE, DURING, AFTER = 50, 300, 50


def test_a_database_that_is_away_for_seconds_costs_no_row(tmp_path: Path) -> None:
    found = outage(tmp_path, before=BEFORE, during=DURING, after=AFTER, warm=True)
    assert len(found.answered) == found.sent == BEFORE + DURING + AFTER
    assert (found.complete, found.lost) == (True, 0)
    assert found.journal == found.answered
    # The database was away: no request was in it, and answers waited; the last may be running.
    assert found.inside == 0
    assert found.waiting >= (DURING - 1) * ENTRY_BYTES
    # The mock still answers; requests that need the database get an error.
    assert (found.ready, found.healthy, found.database) == (200, 503, "OperationalError")
