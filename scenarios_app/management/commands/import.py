"""`import FILE…`: recordings of other tools into the database as scenarios, all of them or none."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scenarios_app.engine.document import DocumentError
from scenarios_app.recording.files import read_paths
from scenarios_app.store import limits
from scenarios_app.store.documents import authored_names, load


class Command(BaseCommand):
    help = (
        "Imports recordings as scenarios. Reads vcrpy cassettes, pydantic-ai's WebSocket "
        "cassettes, HAR, aimock fixtures, WireMock mappings, logs in JSONL, OTLP traces and "
        "traces of the chat. Each file becomes a scenario named after the file without its "
        "suffix. It replaces a recording of that name, never another scenario. Reports what "
        "cannot be carried over; a file with an error loads nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", metavar="FILE", help="a file or a directory")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be loaded")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            files = read_paths(options["paths"], limits=limits(), names=authored_names())
            replaced: tuple[str, ...] = ()
            if not options["dry_run"]:
                replaced = load(files.documents).replaced
        except DocumentError as error:
            raise CommandError(str(error)) from None
        steps = {document.name: len(document.steps) for document in files.documents}
        if options["json"]:
            report = {
                "scenarios": [
                    {"name": name, "steps": count, "replaced": name in replaced}
                    for name, count in steps.items()
                ],
                "notes": [{"file": note.source, "note": note.message} for note in files.notes],
                "loaded": not options["dry_run"],
            }
            self.stdout.write(json.dumps(report, indent=2, ensure_ascii=False))
            return
        for note in files.notes:
            self.stderr.write(str(note))
        for name, count in steps.items():
            done = "replaced" if name in replaced else "new"
            action = "not loaded" if options["dry_run"] else done
            self.stdout.write(f"{name}: {count} step{'s' if count != 1 else ''}, {action}")
        if not steps:
            raise CommandError("nothing was imported")
