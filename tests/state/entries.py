"""Journal entries in few words."""

from typing import Any
from uuid import uuid4

from scenarios_app.journal.entry import JournalEntry
from scenarios_app.models import ServedRequest


def entry(**fields: Any) -> JournalEntry:
    given: dict[str, Any] = {
        "uid": str(uuid4()),
        "at": 1_800_000_000.25,
        "session": "default",
        "method": "POST",
        "path": "/v1/chat/completions",
        "status": 200,
        "outcome": "complete",
        "duration_ms": 1.5,
    }
    return JournalEntry(**(given | fields))


def paths() -> list[str]:
    """The paths in the journal, in its order."""
    return list(ServedRequest.objects.order_by("pk").values_list("path", flat=True))
