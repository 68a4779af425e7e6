"""`torture`: repeats a command with one fault at one answer at a time."""

import sys
from argparse import Namespace
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandParser

from scenarios_app.proof import command
from scenarios_app.proof.experiment import Experiment
from scenarios_app.proof.torture import TORTURE
from scenarios_app.testing import run


class Command(BaseCommand):
    experiment: ClassVar[Experiment] = TORTURE
    help = TORTURE.help
    _command: tuple[str, ...] = ()

    def run_from_argv(self, argv: list[str]) -> None:
        own, words = run.split(argv)
        self._command = tuple(words)
        super().run_from_argv(own)

    def add_arguments(self, parser: CommandParser) -> None:
        command.add_arguments(self.experiment, parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if code := command.run(self.experiment, Namespace(**options), self._command):
            sys.exit(code)
