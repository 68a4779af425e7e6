"""`run`: a server for the length of a command, and the verdict on what it asked."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scenarios_app.testing import run


class Command(BaseCommand):
    help = run.HELP

    def add_arguments(self, parser: CommandParser) -> None:
        run.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        arguments = options["scenario"], options["fixture"], options["command"]
        if code := run.run(*arguments, strict=options["strict"]):
            sys.exit(code)
