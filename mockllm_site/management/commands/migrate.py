"""`migrate`: Django's, which in test mode makes the tables in memory from the models."""

from typing import Any

from django.core.management.commands import migrate

from mockllm_site.serve.database import in_memory


class Command(migrate.Command):
    help = "Makes the tables of the database, or updates them."

    def handle(self, *args: Any, **options: Any) -> None:
        # No app has migrations there.
        run_syncdb = options["run_syncdb"] or (in_memory() and not options["app_label"])
        super().handle(*args, **{**options, "run_syncdb": run_syncdb})
