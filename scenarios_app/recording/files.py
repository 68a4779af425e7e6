"""Loads scenario documents and recordings from the paths of MOCKLLM_SCENARIOS and of commands."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from scenarios_app.engine.document.checks import LIMITS, DocumentLimits
from scenarios_app.engine.document.files import Converter, ScenarioFiles, find_ignored_files
from scenarios_app.engine.document.json_text import to_plain_json
from scenarios_app.engine.document.load import LoadedDocument, read_documents
from scenarios_app.engine.document.scenario import ScenarioDocument
from scenarios_app.engine.shapes import DocumentError, Problem
from scenarios_app.recording.collisions import find_collisions
from scenarios_app.recording.document import Conversion
from scenarios_app.recording.importers import SUFFIXES, decode_recording, scenario_name, unique_name

_NOTHING: Final = "no part of it can be imported"


@dataclass(frozen=True, slots=True)
class Files:
    """The scenarios read from files, and notes on skipped content and colliding recordings."""

    documents: list[ScenarioDocument]
    notes: tuple[Problem, ...] = ()


def read_paths(
    paths: str | Iterable[str | Path],
    *,
    limits: DocumentLimits = LIMITS,
    used_names: Collection[str] = (),
) -> Files:
    """Return the scenarios of all files, merged by name. A recording is named after its file, with
    a number if that is in `used_names`. Raises DocumentError, and then nothing is loaded."""
    return read_all(scenario_files(paths, limits=limits, used_names=used_names))


def read_all(files: ScenarioFiles) -> Files:
    """Return the scenarios of all files; raises DocumentError, and then nothing is loaded."""
    documents, problems = files.read()
    if problems:
        raise DocumentError.of(problems)
    over = find_ignored_files(files.paths, others=SUFFIXES)
    collisions = find_collisions(documents.values(), files.sources)
    return Files(list(documents.values()), (*files.notes, *over, *collisions))


def scenario_files(
    paths: str | Iterable[str | Path],
    *,
    limits: DocumentLimits = LIMITS,
    used_names: Collection[str] = (),
) -> ScenarioFiles:
    """Return a reader of the files at these paths, recordings included, that can be read again.
    Recordings are named as by `read_paths`."""
    return ScenarioFiles(paths, limits=limits, others=_Recordings(used_names))


def read_upload(data: bytes, *, source: str, used_names: Collection[str] = ()) -> Files | None:
    """Return the scenario of an uploaded recording, None for another file; raises DocumentError.
    It is named after the file `source`, with a number if that is in `used_names`."""
    source_recording = decode_recording(data, source=source)
    if source_recording is None:
        return None
    name = scenario_name(source)
    free_name = unique_name(name, used_names)
    conversion = source_recording.convert(free_name)
    notes = (*_conversion_notes(conversion, source), *_rename_note(name, free_name, source))
    document = _checked_document(conversion, source)
    return Files([] if document is None else [document], notes)


@dataclass(slots=True)
class _Recordings:
    """Reads recordings among other documents."""

    used_names: Collection[str]
    notes: list[Problem] = field(default_factory=list)
    suffixes: Collection[str] = SUFFIXES
    _renamed: set[Problem] = field(default_factory=set)

    def find_converter(self, file: Path, data: bytes) -> Converter | None:
        """Return a function that names a recording's document, given the names that are taken; None
        for another file. Raises DocumentError."""
        source_recording = decode_recording(data, source=str(file))
        if source_recording is None:
            return None
        # Convert now, so that its problems are reported together with those of other files.
        conversion = source_recording.convert(scenario_name(str(file)))
        document = _checked_document(conversion, str(file))
        self.notes += _conversion_notes(conversion, str(file))

        def load_with_unique_name(names: Collection[str]) -> LoadedDocument | None:
            """Return the document under the first free name, or None if it has no steps."""
            if document is None:
                return None
            name = unique_name(document.name, {*names, *self.used_names})
            # Files that are read again have the same names.
            renamed = {*_rename_note(document.name, name, str(file))} - self._renamed
            self.notes += renamed
            self._renamed |= renamed
            return LoadedDocument(document.model_copy(update={"name": name}), str(file))

        return load_with_unique_name


def _checked_document(conversion: Conversion, source: str) -> ScenarioDocument | None:
    """Return a conversion's document, validated, or None without steps; raises DocumentError."""
    if not conversion.steps:
        return None
    try:
        (loaded,) = read_documents(to_plain_json(conversion.document), source=source)
    except DocumentError as error:
        problems = (replace(problem, source=source) for problem in error.problems)
        raise DocumentError.of(problems) from None
    return loaded.document


def _rename_note(name: str, free_name: str, source: str) -> Iterator[Problem]:
    """Yield a note if the scenario's name had to be changed."""
    if name != free_name:
        yield Problem("", f"its scenario is named {free_name}, since {name} is taken", source)


def _conversion_notes(conversion: Conversion, source: str) -> list[Problem]:
    """Return the notes on a file, with one more if the conversion has no steps."""
    note_lines = [*conversion.notes, *([] if conversion.steps else [_NOTHING])]
    return [Problem("", note, source) for note in note_lines]
