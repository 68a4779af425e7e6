"""Journal entries for tests."""

from typing import Any
from uuid import uuid4

from scenarios_app.journal.entry import JournalEntry
from scenarios_app.models import ServedRequest


def entry(**fields: Any) -> JournalEntry:
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
    }
    return JournalEntry(**(defaults | fields))


def journal_paths() -> list[str]:
    """Return the paths of the stored requests, in order."""
    return list(ServedRequest.objects.order_by("pk").values_list("path", flat=True))
