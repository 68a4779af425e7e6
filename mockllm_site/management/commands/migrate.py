"""`migrate`: Django's, which in test mode creates in-memory tables from the models."""

from typing import Any

from django.apps import apps
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.core.management.sql import emit_post_migrate_signal
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from mockllm_site.kit.sqlite3.base import DatabaseWrapper
from mockllm_site.serve.database import database_label, is_in_memory
from scenarios_app.store.upgrade import UnknownDatabaseError, upgrade

# Options that ask for some tables, or for none.
PARTIAL_OPTIONS = ("app_label", "check_unapplied", "fake", "plan", "prune")
# Options with which no table changes.
UNCHANGING_OPTIONS = ("check_unapplied", "fake", "plan")


class Command(migrate.Command):
    help = "Makes the tables of the database, or updates them."

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate the database, or create the tables of an in-memory one from
        the models. No other command creates a SQLite file."""
        if not is_in_memory():
            database = connections[options["database"]]
            if isinstance(database, DatabaseWrapper):
                database.create_file()
            if not any(options[part] for part in UNCHANGING_OPTIONS):
                self._upgrade(database, options["verbosity"])
            super().handle(*args, **options)
        elif any(options[part] for part in PARTIAL_OPTIONS):
            super().handle(*args, **{**options, "run_syncdb": not options["app_label"]})
        else:
            self._make_tables(options["verbosity"], options["interactive"])

    def _upgrade(self, database: BaseDatabaseWrapper, verbosity: int) -> None:
        """Upgrade a database of version 0.1; raise CommandError for one of an unknown version."""
        try:
            if upgrade(database) and verbosity:
                self.stdout.write("Upgraded the database of version 0.1.")
        except UnknownDatabaseError as error:
            raise CommandError(f"{database_label(database)}: {error}") from None

    def _make_tables(self, verbosity: int, interactive: bool) -> None:
        """Create the tables without migration states, which take longer than the tables."""
        self.verbosity = verbosity
        self.sync_apps(connection, {app.label for app in apps.get_app_configs()})
        emit_post_migrate_signal(verbosity, interactive, connection.alias)
