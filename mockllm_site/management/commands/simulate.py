"""`simulate`: lets the scripted users of a file talk to an agent."""

import sys
from argparse import Namespace
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scenarios_app.testing.simulate import command as simulate


class Command(BaseCommand):
    help = simulate.HELP

    def add_arguments(self, parser: CommandParser) -> None:
        simulate.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if code := simulate.run(Namespace(**options)):
            sys.exit(code)
