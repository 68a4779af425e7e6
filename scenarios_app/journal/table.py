"""The journal's table: rows go into it many at a time, and the oldest leave it."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from mockllm_site.kit import rows
from scenarios_app.journal.entry import Row
from scenarios_app.models import PastAnswers, ServedRequest

_ROWS: Final = ServedRequest._meta.db_table
_PAST: Final = PastAnswers._meta.db_table
_LAST: Final = f"SELECT MAX(id) FROM {_ROWS}"
# All steps in one statement. Grouped by scenarios first SQLite would read an index of all rows in
# place of the oldest few; and two processes that count at once do so in the same order.
_KEEP_ANSWERS: Final = f"""
    INSERT INTO {_PAST} (scenario, step_key, count, last)
    SELECT scenario, step_key, COUNT(*), MAX(at) FROM {_ROWS}
    WHERE id <= %s AND scenario <> '' AND step_key <> ''
    GROUP BY step_key, scenario ORDER BY step_key, scenario
    ON CONFLICT (scenario, step_key)
    DO UPDATE SET count = {_PAST}.count + EXCLUDED.count, last = EXCLUDED.last
"""
_DELETE: Final = f"DELETE FROM {_ROWS} WHERE id <= %s"
_encode = msgspec.json.Encoder().encode


def insert(new_rows: Sequence[Row]) -> None:
    """Write rows, all or none."""
    rows.insert(ServedRequest, Row._fields, new_rows, json=_json)


def trim(most: int) -> None:
    """Delete all but the newest rows; the counts of answered steps stay."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LAST)
        last = cursor.fetchone()[0]
        if last is not None:
            cursor.execute(_KEEP_ANSWERS, [last - most])
            cursor.execute(_DELETE, [last - most])


def _json(value: Any, here: BaseDatabaseWrapper) -> str:
    """JSON that reads as the model's own does. What is filled is headers and timings, nearly
    always: flat objects, of which msgspec makes a text in a tenth of the time."""
    if value and isinstance(value, dict):
        # Half a character is one that JSON can say and UTF-8 cannot.
        with suppress(UnicodeEncodeError):
            return _encode(value).decode()
    return rows.json_text(value, here)
