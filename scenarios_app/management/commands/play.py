"""`play FILE…`: plays conversations against scenarios, for people and for CI."""

import asyncio
import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scenarios_app.catalog import catalog
from scenarios_app.engine.document import (
    DocumentError,
    ScenarioDocument,
    compile_scenario,
    merge_documents,
)
from scenarios_app.engine.document.files import read_files
from scenarios_app.engine.matching.index import build_index
from scenarios_app.management import NOT_JUDGED, read_file, write_file
from scenarios_app.play.conversation import read_play
from scenarios_app.play.player import FixedCatalog, PlayedConversation, play
from scenarios_app.play.report import to_cases, to_json, to_text
from scenarios_app.serving.services import options as serving_options
from scenarios_app.store import limits
from scenarios_app.verdict.reports import SUITE, junit


class Command(BaseCommand):
    help = (
        "Plays conversations and compares answers with expectations. "
        "A file holds conversations and, optionally, scenarios; by default the database's are "
        "used. No server is needed. "
        "The exit code is 0 if all is as expected, 1 if not, 2 if the check could not be run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", help="a file of conversations")
        parser.add_argument(
            "--scenario",
            metavar="PATH",
            action="append",
            default=[],
            help="a file or directory of scenarios to play against; repeatable",
        )
        parser.add_argument("--json", action="store_true", help="JSON in place of text")
        parser.add_argument("--junit", metavar="FILE", help="write JUnit XML there as well")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            scenarios = (
                read_files(options["scenario"], limits=limits()) if options["scenario"] else []
            )
            runs = [run for file in options["files"] for run in _play_file(file, scenarios)]
        except DocumentError as error:
            raise CommandError(str(error), returncode=NOT_JUDGED) from None
        if options["junit"]:
            write_file(options["junit"], junit(SUITE, to_cases(runs)))
        text = json.dumps(to_json(runs), indent=2, ensure_ascii=False) if options["json"] else ""
        self.stdout.write(text or to_text(runs))
        if not all(run.passed for run in runs):
            sys.exit(1)


def _play_file(file: str, scenarios: list[ScenarioDocument]) -> list[PlayedConversation]:
    """Play a file's conversations against these scenarios and its own, or against the database's if
    there are none. Raises DocumentError or CommandError."""
    document = read_play(read_file(file), source=file)
    against = _build_or_load_catalog([*scenarios, *document.scenarios])
    scenario = document.scenarios[0].name if len(document.scenarios) == 1 else ""
    return [
        asyncio.run(
            play(conversation, catalog=against, options=serving_options(), scenario=scenario)
        )
        for conversation in document.conversations
    ]


def _build_or_load_catalog(documents: list[ScenarioDocument]) -> FixedCatalog:
    """Return a catalog of the documents, or of the database without any; raises DocumentError."""
    if not documents:
        return FixedCatalog(catalog.index())
    merged = merge_documents(documents, limits=limits())
    return FixedCatalog(
        build_index([compile_scenario(document) for document in merged if document.enabled])
    )
