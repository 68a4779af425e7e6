"""`flush`: Django's, once the journal has written its last rows, which would else come later."""

from typing import Any

from django.core.management.commands import flush

from scenarios_app.journal import journal


class Command(flush.Command):
    help = "Deletes all rows of the database."

    def handle(self, **options: Any) -> None:
        """Empty the tables, as Django does after each TransactionTestCase."""
        journal.flush()
        super().handle(**options)
