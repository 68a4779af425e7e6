"""`record`: what a command says to real providers and hears from them, kept in a cassette."""

import sys
from argparse import Namespace
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scenarios_app.testing import record


class Command(BaseCommand):
    help = record.HELP

    def add_arguments(self, parser: CommandParser) -> None:
        record.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if code := record.record(Namespace(**options)):
            sys.exit(code)
