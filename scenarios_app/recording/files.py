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
from scenarios_app.recording.document import Made
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
    taken: Collection[str] = (),
) -> Files:
    """The scenarios of all files, merged by name; each recording is a scenario that is called as
    its file without the suffix, made unique among them and what is `taken`. Raises DocumentError,
    and then nothing is loaded."""
    listed = paths.split(os.pathsep) if isinstance(paths, str) else list(paths)
    listed = [path for path in listed if str(path)]
    recordings = _Recordings(set(map(str, listed)), taken)
    documents = read_files(listed, limits=limits, others=recordings)
    over = find_ignored_files(listed, others=SUFFIXES)
    return Files(documents, (*recordings.notes, *over))


def read_upload(
    data: bytes, *, source: str, taken: Collection[str] = (), limits: DocumentLimits = LIMITS
) -> Files | None:
    """The one scenario of a recording that came in as bytes under a file's name; None where it is
    no recording. Raises DocumentError."""
    found = recording(data, source=source)
    if found is None:
        return None
    made = found.made(unique(stem_of(source), taken))
    notes = tuple(_notes(made, source))
    return Files([read.document for read in _reads(made, source)], notes)


@dataclass(slots=True)
class _Recordings:
    """Reads recordings beside documents of ours. What was `named` is meant to be read, names that
    are `taken` are for others."""

    named: set[str]
    taken: Collection[str]
    notes: list[Problem] = field(default_factory=list)
    suffixes: Collection[str] = SUFFIXES

    def find_reader(
        self, file: Path, data: bytes
    ) -> Callable[[Collection[str]], LoadedDocument | None] | None:
        found = recording(data, source=str(file))
        if found is None:
            if file.suffix.lower() in SUFFIXES and str(file) not in self.named:
                self.notes.append(Problem("", _NO_FORM, str(file)))
            return None
        # Made now, so that what is wrong with it is told with all else that is.
        made = found.made(stem_of(str(file)))
        reads = _reads(made, str(file))
        self.notes += _notes(made, str(file))

        def named(taken: Collection[str]) -> LoadedDocument | None:
            for read in reads:
                name = unique(read.document.name, {*taken, *self.taken})
                return LoadedDocument(read.document.model_copy(update={"name": name}), read.source)
            return None

        return named


def _reads(made: Made, source: str) -> list[LoadedDocument]:
    """The checked document of what was made, if it has a step."""
    if not made.steps:
        return []
    try:
        return read_documents(plain(made.document), source=source)
    except DocumentError as error:
        raise DocumentError.of(
            Problem(problem.place, problem.message, source) for problem in error.problems
        ) from None


def _notes(made: Made, source: str) -> list[Problem]:
    told = [*made.notes, *([] if made.steps else [_NOTHING])]
    return [Problem("", note, source) for note in told]
