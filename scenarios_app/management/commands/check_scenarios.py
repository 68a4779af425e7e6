"""`check_scenarios [PATH…]`: says what is wrong with scenarios, for people and for CI."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scenarios_app.catalog.lint import offered_tools, suspicions_of
from scenarios_app.engine.document import (
    DocumentError,
    Problem,
    ScenarioDocument,
    compile_scenario,
)
from scenarios_app.models import Scenario
from scenarios_app.recording.files import read_paths
from scenarios_app.store import RowProblem, document_of, limits, problems_of


class Command(BaseCommand):
    help = (
        "Checks scenarios, in files or in the database. "
        "Each problem is one line that names its place; any makes the exit code 1. "
        "What is only suspicious (a step that never answers, loops or answers too much) is a "
        "warning; with --strict, warnings are problems."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "paths", nargs="*", metavar="PATH", help="a file or a directory (default: the database)"
        )
        parser.add_argument("--strict", action="store_true", help="warnings are problems too")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        paths: list[str] = options["paths"]
        notes: Sequence[Problem] = ()
        problems: Sequence[Problem | RowProblem]
        if paths:
            documents, problems, notes = _check_files(paths)
        else:
            documents, problems = _check_database()
        # What other requests offered says nothing about files that they may never have met.
        suspicions = suspicions_of(documents, offered=() if paths else offered_tools())
        warnings = [
            *map(str, notes),
            *(f"{suspicion} ({suspicion.kind})" for suspicion in suspicions),
        ]
        steps = sum(len(document.steps) for document in documents)
        if options["json"]:
            result = {
                "problems": [asdict(problem) for problem in problems],
                "warnings": warnings,
                "scenarios": len(documents),
                "steps": steps,
            }
            self.stdout.write(json.dumps(result, ensure_ascii=False, indent=2))
        else:
            for line in (*problems, *warnings):
                self.stderr.write(str(line))
        if problems:
            raise CommandError(f"problems found: {len(problems)}")
        if warnings and options["strict"]:
            raise CommandError(f"warnings found: {len(warnings)}")
        if options["json"]:
            return
        counted = f", warnings: {len(warnings)}" if warnings else ""
        self.stdout.write(f"no problems; scenarios: {len(documents)}, steps: {steps}{counted}")


def _check_files(
    paths: Sequence[str],
) -> tuple[list[ScenarioDocument], Sequence[Problem], Sequence[Problem]]:
    """Return the documents, the problems and the notes; if there are problems, these alone."""
    try:
        files = read_paths(paths, limits=limits())
    except DocumentError as error:
        return [], error.problems, ()
    return files.documents, [], files.notes


def _check_database() -> tuple[list[ScenarioDocument], list[RowProblem]]:
    """Return the valid scenarios and the problems of stored ones."""
    documents: list[ScenarioDocument] = []
    problems: list[RowProblem] = []
    for row in Scenario.objects.order_by("name").prefetch_related("steps"):
        try:
            document = document_of(row)
            compile_scenario(document)
        except DocumentError as error:
            problems += problems_of(error, row.name)
        else:
            documents.append(document)
    return documents, problems
