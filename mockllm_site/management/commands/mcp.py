"""`mcp`: the tools of scenarios and recordings as an MCP server."""

import sys
from argparse import Namespace
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scenarios_app.testing.mcp import HELP, add_arguments, mcp


class Command(BaseCommand):
    help = HELP

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if code := mcp(Namespace(**options)):
            sys.exit(code)
