"""`env`: the variables that point SDKs at a server."""

import sys
from argparse import Namespace
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from mockllm_site.sdk_environment import HELP, add_arguments, print_variables


class Command(BaseCommand):
    help = HELP

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if code := print_variables(Namespace(**options)):
            sys.exit(code)
