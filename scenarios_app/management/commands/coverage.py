"""`coverage`: the steps that a running server never used, or the faults that programs survived."""

import json
import sys
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scenarios_app.management import (
    GITHUB_HELP,
    NOT_JUDGED,
    add_url,
    call_control,
    read_file,
    write_file,
    write_step_results,
)
from scenarios_app.verdict.badge import percent_badge
from scenarios_app.verdict.github import coverage_annotations, coverage_summary, literal_lines
from scenarios_app.verdict.reports import SUITE, coverage_cases, coverage_page, junit
from scenarios_app.verdict.survival import NO_REPORT, BadReport, merge_reports


class Command(BaseCommand):
    help = (
        "Reports the steps that a running server never used. "
        "Also their conditions that never held, and faults that never struck. "
        "The exit code is 0, 1 below --fail-under, or 2 if the check could not be run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_url(parser)
        parser.add_argument(
            "--scenario",
            metavar="NAME",
            action="append",
            default=[],
            help="only this scenario, which may be private to a session; repeatable, * is all",
        )
        parser.add_argument(
            "--fail-under",
            metavar="PERCENT",
            type=_parse_percent,
            default=0.0,
            help="exit with 1 if a smaller percentage was used, or survived",
        )
        parser.add_argument(
            "--faults",
            metavar="REPORT",
            nargs="*",
            help="report which faults were survived at which steps instead; first store the "
            "results of these files, which `mockllm torture --json` has written",
        )
        parser.add_argument("--badge", metavar="FILE", help="also write the percentage as an SVG")
        parser.add_argument("--json", action="store_true", help="print JSON instead of text")
        parser.add_argument("--junit", metavar="FILE", help="also write JUnit XML to FILE")
        parser.add_argument("--html", metavar="FILE", help="also write an HTML page to FILE")
        parser.add_argument("--github", action="store_true", help=f"{GITHUB_HELP} `coverage`")

    def handle(self, *args: Any, **options: Any) -> None:
        named = options["scenario"]
        query = {"scenarios": json.dumps(named)} if named else {}
        faults = options["faults"] is not None
        if faults:
            self._store_results(options)
        report = call_control(options["url"], "coverage/faults" if faults else "coverage", **query)
        if options["junit"]:
            write_file(options["junit"], junit(SUITE, coverage_cases(report)))
        if options["html"]:
            write_file(options["html"], coverage_page(report))
        if options["badge"]:
            label = "faults survived" if faults else "steps covered"
            write_file(options["badge"], percent_badge(label, report["percent"]))
        text = json.dumps(report, indent=2, ensure_ascii=False) if options["json"] else None
        minimum, text = options["fail_under"], text or report["text"]
        if options["github"]:
            write_step_results(coverage_summary(report), f"coverage={report['percent']:g}")
            annotations = coverage_annotations(report, fail_under=minimum)
            text = "\n".join(filter(None, [literal_lines(text), annotations]))
        self.stdout.write(text)
        if report["percent"] < minimum:
            self.stderr.write(f"mockllm: {report['percent']:g} % is under {minimum:g} %")
            sys.exit(1)

    def _store_results(self, options: dict[str, Any]) -> None:
        """Send the results of the named reports to the server, and print what it skips. Raises
        CommandError, also for an option that does not go with --faults."""
        for option in ("junit", "html", "github"):
            if options[option]:
                raise CommandError(f"--faults has no --{option}", returncode=NOT_JUDGED)
        if not options["faults"]:
            return
        try:
            body = merge_reports([(file, _read_report(file)) for file in options["faults"]])
        except BadReport as error:
            raise CommandError(str(error), returncode=NOT_JUDGED) from None
        for result in call_control(options["url"], "coverage/faults", body=body)["skipped"]:
            self.stderr.write(
                f"mockllm: results of {result['scenario']} left out: {result['reason']}"
            )


def _read_report(file: str) -> Any:
    """Return the JSON of a report; raises BadReport, or CommandError if the file cannot be read."""
    try:
        return json.loads(read_file(file))
    except (ValueError, RecursionError):
        raise BadReport(f"{file} is {NO_REPORT}") from None


def _parse_percent(text: str) -> float:
    """Return a number from 0 to 100; raises ArgumentTypeError for other texts."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise ArgumentTypeError(f"expected a number from 0 to 100, got {text!r}")
    return number
