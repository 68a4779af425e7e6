"""`schema [NAME]`: prints the JSON Schema of scenario documents, for editors."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scenarios_app.engine.document import SCHEMAS


class Command(BaseCommand):
    help = (
        "Prints the JSON Schema of scenario files, for editors. Each key has a description and an "
        'example. Save it, and name the file in a document as "$schema".'
    )

    def add_arguments(self, parser: CommandParser) -> None:
        names = sorted(file.stem for file in SCHEMAS.glob("*.json"))
        parser.add_argument(
            "name", nargs="?", choices=names, default="scenario", help="default: %(default)s"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write((SCHEMAS / f"{options['name']}.json").read_text("utf-8"), ending="")
