"""The journal's rows, with all in them that has ended by now."""

from django.db.models import QuerySet

from scenarios_app.control.errors import ControlError
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest


def flush() -> None:
    """Wait until all that has ended can be read."""
    if not journal.flush():
        raise ControlError(503, "The journal is behind; try again.")


def rows_of_session(session: str | None) -> QuerySet[ServedRequest]:
    """The rows of a session, or of all, in the order in which answers ended."""
    rows = ServedRequest.objects.order_by("pk")
    return rows if session is None else rows.filter(session=session)
