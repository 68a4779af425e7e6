"""The journal's rows, with all in them that has ended by now."""

from typing import Any

from django.db.models import QuerySet

from scenarios_app.control.kit import ControlError
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest


def flush() -> None:
    """Wait until all that has ended can be read."""
    if not journal.flush():
        raise ControlError(503, "The journal is behind; try again.")


def completeness(session: str | None) -> dict[str, Any]:
    """Whether the journal has all requests of a session, or of all, and how many it has lost."""
    lost = journal.losses.of(session)
    return {"complete": lost == 0, "lost": lost}


def forget_rows(session: str | None) -> None:
    """Empty the journal of a session, or of all; what it lost of them is forgotten with them."""
    rows_of_session(session).delete()
    journal.losses.forget(session)


def rows_of_session(session: str | None) -> QuerySet[ServedRequest]:
    """The rows of a session, or of all, in the order in which answers ended."""
    rows = ServedRequest.objects.order_by("pk")
    return rows if session is None else rows.filter(session=session)
