"""Django commands of programs that also run without Django, through their modules' `main`."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scenarios_app.testing.run import split_command


class ProgramCommand(BaseCommand):
    """A Django command made of the function `run`, which gets its options and returns its exit
    code. With `takes_command`, `run` also gets the command that the user gives after `--`."""

    def __init__(
        self,
        help: str,
        add_options: Callable[[ArgumentParser], None],
        run: Callable[..., int],
        *,
        takes_command: bool = False,
    ) -> None:
        super().__init__()
        self.help = help
        self._add_options = add_options
        self._run = run
        self._takes_command = takes_command
        self._command: list[str] = []

    def run_from_argv(self, argv: list[str]) -> None:
        """Split off the command after `--`, which argparse must not parse."""
        if self._takes_command:
            argv, self._command = split_command(argv)
        super().run_from_argv(argv)

    def add_arguments(self, parser: CommandParser) -> None:
        self._add_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Call `run` with the options and exit with its code."""
        command = [self._command] if self._takes_command else []
        if code := self._run(Namespace(**options), *command):
            sys.exit(code)
