"""`load_scenarios PATH…`: scenario documents from files into the database, all of them or none."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scenarios_app.engine.document import DocumentError
from scenarios_app.recording.files import read_paths
from scenarios_app.store import limits
from scenarios_app.store.documents import load


class Command(BaseCommand):
    help = (
        "Loads scenario documents from files and directories. A scenario of the same name is "
        "replaced, others stay; a file with an error loads nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", metavar="PATH", help="a file or a directory")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be loaded")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            files = read_paths(options["paths"], limits=limits())
            documents = files.documents
            for note in files.notes:
                self.stderr.write(str(note))
            if options["dry_run"]:
                for document in documents:
                    self.stdout.write(f"{document.name}: {len(document.steps)} steps, not loaded")
                return
            loaded = load(documents)
        except DocumentError as error:
            raise CommandError(str(error)) from None
        for name in loaded.created:
            self.stdout.write(f"{name}: new")
        for name in loaded.replaced:
            self.stdout.write(f"{name}: replaced")
