"""Creates rows of the journal."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from scenarios_app.models import Outcome, ServedRequest

NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def create_journal_row(**columns: Any) -> ServedRequest:
    """Store a journal row; by default a matched chat completion. Bodies of any length are stored as
    text."""
    for body in {"request_body", "response_body"} & columns.keys():
        columns[body.replace("_body", "_text")] = columns.pop(body)
    fields: dict[str, Any] = {
        "uid": uuid4(),
        "at": NOON + timedelta(seconds=ServedRequest.objects.count()),
        "session": "default",
        "provider": "openai",
        "method": "POST",
        "path": "/v1/chat/completions",
        "model": "gpt-4o",
        "matched": True,
        "outcome": Outcome.COMPLETE,
        "status": 200,
        "duration_ms": 1.5,
    }
    return ServedRequest.objects.create(**fields | columns)


def create_unmatched_row(**columns: Any) -> ServedRequest:
    fields = {"way": "match", "matched": False, "outcome": Outcome.UNMATCHED, "status": 404}
    return create_journal_row(**fields | columns)
