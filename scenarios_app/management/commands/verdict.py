"""`verdict`: whether all that a running server was asked went as it should."""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from scenarios_app.management import (
    GITHUB_HELP,
    SUMMARY,
    add_url,
    call_control,
    github_file,
    write_file,
    write_step_results,
)
from scenarios_app.verdict.colours import colour_report, has_colours
from scenarios_app.verdict.github import literal_lines, verdict_annotations
from scenarios_app.verdict.reports import SUITE, job_summary, junit, verdict_cases


class Command(BaseCommand):
    help = (
        "Reports what went wrong on a running server. "
        "That is: unmatched requests, violated expectations, unused steps, and client errors. "
        "The exit code is 0 if it passed, 1 if it failed, 2 if the check could not be run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_url(parser)
        parser.add_argument("--session", help="the session, by name or API key (default: all)")
        several: dict[str, Any] = {"action": "append", "default": []}
        parser.add_argument(
            "--scenario",
            metavar="NAME",
            help="a scenario whose steps must all be used; repeatable, * is all",
            **several,
        )
        parser.add_argument(
            "--allow-unserved",
            metavar="NAME",
            help="a scenario, or SCENARIO/STEP, that may stay unused; repeatable",
            **several,
        )
        parser.add_argument(
            "--ignore", metavar="RULE", help="a rule to leave out; repeatable", **several
        )
        parser.add_argument("--strict", action="store_true", help="warnings fail it too")
        parser.add_argument("--json", action="store_true", help="JSON in place of text")
        parser.add_argument("--junit", metavar="FILE", help="write JUnit XML there as well")
        parser.add_argument(
            "--summary",
            metavar="FILE",
            nargs="?",
            const="",
            help=f"append Markdown there as well (without FILE: to ${SUMMARY})",
        )
        parser.add_argument("--github", action="store_true", help=f"{GITHUB_HELP} `passed`")

    def handle(self, *args: Any, **options: Any) -> None:
        query = {"strict": "true" if options["strict"] else "false"}
        if options["session"]:
            query["session"] = options["session"]
        lists = ("scenarios", "scenario"), ("allow_unserved",) * 2, ("ignore",) * 2
        query |= {key: json.dumps(options[name]) for key, name in lists if options[name]}
        verdict = call_control(options["url"], "verdict", **query)
        if options["junit"]:
            write_file(options["junit"], junit(SUITE, verdict_cases(verdict)))
        if options["summary"] is not None:
            file = options["summary"] or github_file(
                SUMMARY, option="--summary", hint="; name a FILE"
            )
            write_file(file, job_summary(verdict), append=True)
        text = json.dumps(verdict, indent=2, ensure_ascii=False) if options["json"] else None
        if text is None:
            coloured = has_colours(sys.stdout) and not options["no_color"]
            text = colour_report(verdict["text"]) if coloured else verdict["text"]
        if options["github"]:
            write_step_results(job_summary(verdict), f"passed={str(verdict['passed']).lower()}")
            text = "\n".join(filter(None, [literal_lines(text), verdict_annotations(verdict)]))
        self.stdout.write(text)
        if not verdict["passed"]:
            sys.exit(1)
