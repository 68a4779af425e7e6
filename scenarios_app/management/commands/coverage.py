"""`coverage`: which steps of scenarios a running server has served, and which it never has."""

import json
import sys
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scenarios_app.management import add_url, ask, write
from scenarios_app.verdict.reports import SUITE, coverage_cases, coverage_page, junit


class Command(BaseCommand):
    help = (
        "Says which steps a running server never served. "
        "And which conditions of theirs never held, and which faults never struck. "
        "The exit code is 0, or 1 below --fail-under, or 2 if nobody could tell."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_url(parser)
        parser.add_argument(
            "--scenario",
            metavar="NAME",
            action="append",
            default=[],
            help="only this one, which may be a session's own; may be given again, * is all",
        )
        parser.add_argument(
            "--fail-under",
            metavar="PERCENT",
            type=_percent,
            default=0.0,
            help="exit with 1 if fewer of a hundred steps have answered",
        )
        parser.add_argument("--json", action="store_true", help="JSON in place of text")
        parser.add_argument("--junit", metavar="FILE", help="write JUnit XML there as well")
        parser.add_argument("--html", metavar="FILE", help="write a page there as well")

    def handle(self, *args: Any, **options: Any) -> None:
        named = options["scenario"]
        query = {"scenarios": json.dumps(named)} if named else {}
        found = ask(options["url"], "coverage", **query)
        if options["junit"]:
            write(options["junit"], junit(SUITE, coverage_cases(found)))
        if options["html"]:
            write(options["html"], coverage_page(found))
        text = json.dumps(found, indent=2, ensure_ascii=False) if options["json"] else None
        self.stdout.write(text or found["text"])
        if found["percent"] < options["fail_under"]:
            least = options["fail_under"]
            self.stderr.write(f"mockllm: {found['percent']:g} % is under {least:g} %")
            sys.exit(1)


def _percent(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise ArgumentTypeError(f"expected a number from 0 to 100, got {text!r}")
    return number
