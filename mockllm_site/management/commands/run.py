"""`run`: a server for the length of a command, and the verdict on what it asked."""

import sys
from argparse import Namespace
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scenarios_app.testing import run


class Command(BaseCommand):
    help = run.HELP

    def add_arguments(self, parser: CommandParser) -> None:
        run.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if code := run.run(Namespace(**options)):
            sys.exit(code)
