"""`export_scenarios [NAME…]`: scenarios of the database as documents or as a fixture."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scenarios_app.engine.document import DocumentError, Problem, ScenarioDocument
from scenarios_app.models import Scenario
from scenarios_app.recording.files import read_paths
from scenarios_app.store import document_of, limits
from scenarios_app.store.documents import documents_json, fixture_json


class Command(BaseCommand):
    help = "Writes the scenarios of these names, or all of them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("names", nargs="*", metavar="NAME")
        parser.add_argument(
            "--from",
            dest="path",
            metavar="PATH",
            help="a file or directory of documents to write instead of the database's scenarios",
        )
        parser.add_argument("--output", default="-", metavar="FILE", help="- is standard output")
        parser.add_argument(
            "--format",
            choices=("document", "fixture"),
            default="document",
            help="document: what load_scenarios takes; fixture: what loaddata takes",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            names: list[str] = options["names"]
            available = _read_files(options["path"]) if options["path"] else _read_database(names)
            documents = _select_documents(names, available)
        except DocumentError as error:
            raise CommandError(str(error)) from None
        written = (
            fixture_json(documents) if options["format"] == "fixture" else documents_json(documents)
        )
        text = json.dumps(written, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        if options["output"] == "-":
            self.stdout.write(text, ending="")
            return
        try:
            Path(options["output"]).write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{options['output']}: cannot be written: {error}") from None
        self.stderr.write(f"{options['output']}: scenarios written: {len(documents)}")


def _read_files(path: str) -> dict[str, ScenarioDocument]:
    """Return the documents under a path by name; raises DocumentError."""
    return {document.name: document for document in read_paths([path], limits=limits()).documents}


def _read_database(names: list[str]) -> dict[str, ScenarioDocument]:
    """Return the stored documents of these names that exist, or all without names, by name. Raises
    DocumentError for those that cannot be read."""
    rows = Scenario.objects.order_by("name").prefetch_related("steps")
    documents: dict[str, ScenarioDocument] = {}
    problems: list[Problem] = []
    for row in rows.filter(name__in=names) if names else rows:
        try:
            documents[row.name] = document_of(row)
        except DocumentError as error:
            problems += (replace(problem, source=row.name) for problem in error.problems)
    if problems:
        raise DocumentError.of(problems)
    return documents


def _select_documents(
    names: list[str], available: dict[str, ScenarioDocument]
) -> list[ScenarioDocument]:
    """Return the documents of these names, or all without names; raises DocumentError."""
    if unknown := [name for name in names if name not in available]:
        raise DocumentError.of(
            Problem(name, "there is no scenario of this name") for name in unknown
        )
    return [available[name] for name in names] if names else list(available.values())
