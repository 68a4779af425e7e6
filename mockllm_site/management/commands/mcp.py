"""`mcp`: the tools of scenarios and recordings as an MCP server."""

import sys
from argparse import Namespace
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scenarios_app.testing import mcp


class Command(BaseCommand):
    help = mcp.HELP

    def add_arguments(self, parser: CommandParser) -> None:
        mcp.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if code := mcp.mcp(Namespace(**options)):
            sys.exit(code)
