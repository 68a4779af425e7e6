"""`drift`: compares current requests or responses with cassettes."""

import sys
from argparse import Namespace
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scenarios_app.testing import drift, run


class Command(BaseCommand):
    help = drift.HELP
    _command: tuple[str, ...] = ()

    def run_from_argv(self, argv: list[str]) -> None:
        own, command = run.split(argv)
        self._command = tuple(command)
        super().run_from_argv(own)

    def add_arguments(self, parser: CommandParser) -> None:
        drift.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if code := drift.drift(Namespace(**options), self._command):
            sys.exit(code)
