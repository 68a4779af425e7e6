"""`import FILE…`: imports recordings as scenarios, into the database or into files."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scenarios_app.engine.document import DocumentError, ScenarioDocument, dump
from scenarios_app.management import write_file
from scenarios_app.recording.document import TAG
from scenarios_app.recording.files import Files, read_paths
from scenarios_app.recording.importers import unique_name
from scenarios_app.store import limits
from scenarios_app.store.documents import authored_names, load

_UNSAFE = re.compile(r"[^\w.,=+@\[\] -]+")


class Command(BaseCommand):
    help = (
        "Imports recordings as scenarios. Reads vcrpy cassettes, pydantic-ai's WebSocket "
        "cassettes, HAR, aimock fixtures, WireMock mappings, logs in JSONL, OTLP traces and "
        "traces of the chat. Each file becomes a scenario named after the file without its "
        "suffix. It replaces a recording of that name, never another scenario. Reports what "
        "cannot be carried over, and recordings that collide; a file with an error loads nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", metavar="FILE", help="a file or a directory")
        parser.add_argument(
            "--output",
            metavar="FOLDER",
            help="write a scenario file for each recording there; no database is needed",
        )
        parser.add_argument("--dry-run", action="store_true", help="only say what would be loaded")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        output, is_dry = options["output"], options["dry_run"]
        targets: dict[str, Path] = {}
        try:
            names = authored_names() if output is None else ()
            files = read_paths(options["paths"], limits=limits(), used_names=names)
            if output is not None:
                targets = _target_files(Path(output), files.documents)
            replaced = {name for name, file in targets.items() if file.exists()}
            if not is_dry and output is None:
                replaced = set(load(files.documents).replaced)
            elif not is_dry:
                _write_documents(files.documents, targets)
        except DocumentError as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            report = _json_report(files, targets, replaced=replaced, loaded=not is_dry)
            self.stdout.write(json.dumps(report, indent=2, ensure_ascii=False))
            return
        for note in files.notes:
            self.stderr.write(str(note))
        for document in files.documents:
            name, count = document.name, len(document.steps)
            action = "replaced" if name in replaced else "new"
            if is_dry:
                action = "not loaded" if output is None else "not written"
            label = str(targets.get(name, name))
            self.stdout.write(f"{label}: {count} step{'s' if count != 1 else ''}, {action}")
        if not files.documents:
            raise CommandError("nothing was imported")


def _json_report(
    files: Files, targets: Mapping[str, Path], *, replaced: Collection[str], loaded: bool
) -> dict[str, Any]:
    scenarios: list[dict[str, Any]] = []
    for document in files.documents:
        name = document.name
        file = {"file": str(targets[name])} if targets else {}
        steps = len(document.steps)
        scenarios.append({"name": name, "steps": steps, "replaced": name in replaced, **file})
    notes = [
        {"file": note.source, "note": ": ".join(filter(None, (note.place, note.message)))}
        for note in files.notes
    ]
    return {"scenarios": scenarios, "notes": notes, "loaded": loaded}


def _write_documents(documents: Sequence[ScenarioDocument], targets: Mapping[str, Path]) -> None:
    for document in documents:
        file = targets[document.name]
        file.parent.mkdir(parents=True, exist_ok=True)
        write_file(str(file), json.dumps(dump(document), indent=1, ensure_ascii=False) + "\n")


def _target_files(folder: Path, documents: Sequence[ScenarioDocument]) -> dict[str, Path]:
    """Return the file for each scenario by name; raises CommandError if a file exists there that is
    no recording."""
    targets: dict[str, Path] = {}
    for document in documents:
        stem = _UNSAFE.sub("_", document.name).strip(". ")[:100] or "recording"
        stem = unique_name(stem, (file.stem for file in targets.values()))
        targets[document.name] = file = folder / f"{stem}.json"
        if file.exists() and not _is_recording(file):
            raise CommandError(
                f"{file}: exists and is no recording; name another folder with --output"
            )
    return targets


def _is_recording(file: Path) -> bool:
    """Return True if a file is valid and has only recordings."""
    try:
        documents = read_paths([file]).documents
    except DocumentError:
        return False
    return all(TAG in document.tags for document in documents)
