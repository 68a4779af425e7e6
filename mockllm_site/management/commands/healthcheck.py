"""`healthcheck`: whether a server is ready."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from mockllm_site.serve.healthcheck import HELP, add_arguments, healthcheck


class Command(BaseCommand):
    help = HELP

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if code := healthcheck(options["url"]):
            sys.exit(code)
