"""`torture`: repeats a command with one fault at one answer at a time."""

import sys
from argparse import Namespace
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scenarios_app.proof import command as torture
from scenarios_app.testing import run


class Command(BaseCommand):
    help = torture.HELP
    _command: tuple[str, ...] = ()

    def run_from_argv(self, argv: list[str]) -> None:
        own, command = run.split(argv)
        self._command = tuple(command)
        super().run_from_argv(own)

    def add_arguments(self, parser: CommandParser) -> None:
        torture.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if code := torture.torture(Namespace(**options), self._command):
            sys.exit(code)
