"""`control-mcp`: the control MCP server through pipes."""

import sys
from argparse import Namespace
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scenarios_app.testing.control_mcp import HELP, add_arguments, control_mcp


class Command(BaseCommand):
    help = HELP

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if code := control_mcp(Namespace(**options)):
            sys.exit(code)
