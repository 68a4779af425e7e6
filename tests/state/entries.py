"""Journal entries for tests."""

from typing import Any
from uuid import uuid4

from scenarios_app.engine.journal_entry import COLUMNS, CleanEntry, JournalEntry, RawEntry
from scenarios_app.journal.table import row_values
from scenarios_app.models import ServedRequest


def entry(**fields: Any) -> RawEntry:
    """Return a journal entry; `fields` override the defaults."""
    defaults: dict[str, Any] = {
        "uid": str(uuid4()),
        "at": 1_800_000_000.25,
        "session": "default",
        "method": "POST",
        "path": "/v1/chat/completions",
        "status": 200,
        "outcome": "complete",
        "duration_ms": 1.5,
        "request_body": b"",
        "response_body": b"",
    }
    return JournalEntry(**(defaults | fields))


def journal_paths() -> list[str]:
    """Return the paths of the stored requests, in order."""
    return list(ServedRequest.objects.order_by("pk").values_list("path", flat=True))


def row_of(entry: CleanEntry, **columns: Any) -> ServedRequest:
    """Return the row of a clean entry, not stored; `columns` override its values."""
    values = dict(zip(COLUMNS, row_values(entry), strict=True))
    return ServedRequest(**values | columns)
