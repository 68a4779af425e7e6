"""Scenario documents and recordings from files and directories, as MOCKLLM_SCENARIOS and the
commands name them."""

import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scenarios_app.engine.document.checks import LIMITS, DocumentLimits
from scenarios_app.engine.document.files import NOT_JSON, find_ignored_files, read_files
from scenarios_app.engine.document.json_text import plain
from scenarios_app.engine.document.load import LoadedDocument, read_documents
from scenarios_app.engine.document.scenario import ScenarioDocument
from scenarios_app.engine.shapes import DocumentError, Problem
from scenarios_app.recording.document import Conversion
from scenarios_app.recording.importers import SUFFIXES, recording, stem_of, unique

_NO_FORM: Final = f"passed over, {NOT_JSON}"
_NOTHING: Final = "nothing of it can be carried over"


@dataclass(frozen=True, slots=True)
class Files:
    """The scenarios of some files, and what could not be carried over or was passed over."""

    documents: list[ScenarioDocument]
    notes: tuple[Problem, ...] = ()


def read_paths(
    paths: str | Iterable[str | Path],
    *,
    limits: DocumentLimits = LIMITS,
    names: Collection[str] = (),
) -> Files:
    """The scenarios of all files, merged by name; each recording is a scenario that is called as
    its file without the suffix, made unique among them and what are `names`. Raises DocumentError,
    and then nothing is loaded."""
    listed = paths.split(os.pathsep) if isinstance(paths, str) else list(paths)
    listed = [path for path in listed if str(path)]
    recordings = _Recordings(set(map(str, listed)), names)
    documents = read_files(listed, limits=limits, others=recordings)
    over = find_ignored_files(listed, others=SUFFIXES)
    return Files(documents, (*recordings.notes, *over))


def read_upload(
    data: bytes, *, source: str, names: Collection[str] = (), limits: DocumentLimits = LIMITS
) -> Files | None:
    """The one scenario of a recording that came in as bytes under a file's name; None where it is
    no recording. Raises DocumentError."""
    source_recording = recording(data, source=source)
    if source_recording is None:
        return None
    conversion = source_recording.convert(unique(stem_of(source), names))
    notes = tuple(_notes(conversion, source))
    return Files([read.document for read in _reads(conversion, source)], notes)


@dataclass(slots=True)
class _Recordings:
    """Reads recordings beside documents of ours. What was `named` is meant to be read, names that
    are `taken` are for others."""

    named: set[str]
    used_names: Collection[str]
    notes: list[Problem] = field(default_factory=list)
    suffixes: Collection[str] = SUFFIXES

    def find_reader(
        self, file: Path, data: bytes
    ) -> Callable[[Collection[str]], LoadedDocument | None] | None:
        source_recording = recording(data, source=str(file))
        if source_recording is None:
            if file.suffix.lower() in SUFFIXES and str(file) not in self.named:
                self.notes.append(Problem("", _NO_FORM, str(file)))
            return None
        # Conversion now, so that what is wrong with it is told with all else that is.
        conversion = source_recording.convert(stem_of(str(file)))
        reads = _reads(conversion, str(file))
        self.notes += _notes(conversion, str(file))

        def named(names: Collection[str]) -> LoadedDocument | None:
            for read in reads:
                name = unique(read.document.name, {*names, *self.used_names})
                return LoadedDocument(read.document.model_copy(update={"name": name}), read.source)
            return None

        return named


def _reads(conversion: Conversion, source: str) -> list[LoadedDocument]:
    """The checked document of what was made, if it has a step."""
    if not conversion.steps:
        return []
    try:
        return read_documents(plain(conversion.document), source=source)
    except DocumentError as error:
        raise DocumentError.of(
            Problem(problem.place, problem.message, source) for problem in error.problems
        ) from None


def _notes(conversion: Conversion, source: str) -> list[Problem]:
    note_lines = [*conversion.notes, *([] if conversion.steps else [_NOTHING])]
    return [Problem("", note, source) for note in note_lines]
