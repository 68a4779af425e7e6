"""Loads scenario documents from the files and directories of MOCKLLM_SCENARIOS."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from errno import EINVAL, ENOENT
from pathlib import Path
from typing import Protocol, TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.checks import LIMITS, DocumentLimits
from scenarios_app.engine.document.load import (
    LoadedDocument,
    has_scenario_keys,
    merge_groups,
    read_documents,
)
from scenarios_app.engine.document.regular_files import read_regular_file
from scenarios_app.engine.document.scenario import ScenarioDocument
from scenarios_app.engine.document.source_text import YAML, decode_text, is_yaml, locate
from scenarios_app.engine.shapes import DocumentError, Problem

SUFFIX = ".json"
# Formats of scripts and recordings: a file in one of them was probably meant to be loaded.
OTHER_FORMS = {".har", ".json5", ".jsonc", ".jsonl", ".ndjson", ".toml", ".yaml", ".yml"}
NOT_JSON = f"scenario documents are JSON or YAML, in *{SUFFIX}, *.yaml or *.yml files"
IS_FIXTURE = "a fixture, no scenario document: load it with loaddata or serve --fixture"


# Makes the document of a file in another format once the used scenario names are known.
Converter: TypeAlias = Callable[[Collection[str]], LoadedDocument | None]


class ForeignFormats(Protocol):
    """Recognizes files of other formats and converts them to documents."""

    suffixes: Collection[str]
    """Suffixes of such files in a directory."""
    notes: list[Problem]
    """The parts that could not be converted."""

    def find_converter(self, file: Path, data: bytes) -> Converter | None:
        """Return the converter of a file, or None for another format. Raises DocumentError."""


def read_files(
    paths: str | Iterable[str | Path],
    *,
    limits: DocumentLimits = LIMITS,
    others: ForeignFormats | None = None,
) -> list[ScenarioDocument]:
    """Return the scenarios of all files, as `ScenarioFiles` reads them. Raises `DocumentError`,
    whose problems name their files; then nothing is loaded."""
    documents, problems = ScenarioFiles(paths, limits=limits, others=others).read()
    if problems:
        raise DocumentError.of(problems)
    return list(documents.values())


@dataclass(slots=True)
class _File:
    """The bytes and problems of a file at its last read, and its last valid content: documents, or
    the converter of another format."""

    data: bytes | None = None
    documents: Sequence[LoadedDocument] = ()
    convert: Converter | None = None
    problems: Sequence[Problem] = ()


class ScenarioFiles:
    """The scenario files and directories that `paths` name; a string is split at `os.pathsep`.

    A directory stands for the `*.json` and YAML files in and below it, sorted by path, without
    hidden ones. A file is parsed again only if its bytes changed. `others` may convert files of
    other formats. `notes` are the skipped files, `sources` the files of each scenario read.
    """

    def __init__(
        self,
        paths: str | Iterable[str | Path],
        *,
        limits: DocumentLimits = LIMITS,
        others: ForeignFormats | None = None,
    ) -> None:
        self.paths = [Path(path).expanduser() for path in _split_paths(paths)]
        self.notes: list[Problem] = others.notes if others else []
        self.sources: dict[str, list[str]] = {}
        self._suffixes = {SUFFIX, *YAML, *(others.suffixes if others else ())}
        self._limits = limits
        self._others = others
        self._read_paths: set[Path] = set()
        self._files: dict[Path, _File] = {}
        self._documents: dict[str, ScenarioDocument] = {}

    def read(self) -> tuple[Mapping[str, ScenarioDocument], list[Problem]]:
        """Return the scenarios by name, merged in the order of the paths, and the problems.

        A broken file, or a scenario whose files contradict each other, keeps its last valid
        content. A path that existed before and is gone counts as empty.
        """
        paths, problems = self._find()
        if problems and self._documents:
            # A directory that cannot be listed has not lost its files.
            return self._documents, problems
        is_first, before = not self._files, self._files
        self._files = {
            resolved: self._read_file(path, before.get(resolved, _File()))
            for resolved, path in paths.items()
            # Many files may be on their way out.
            if is_first or os.path.lexists(path)
        }
        problems += (problem for file in self._files.values() for problem in file.problems)
        reads = [read for file in self._files.values() for read in file.documents]
        for file in self._files.values():
            if file.convert and (read := file.convert({read.document.name for read in reads})):
                reads.append(read)
        self.sources = {}
        for read in reads:
            self.sources.setdefault(read.document.name, []).append(read.source)
        documents: dict[str, ScenarioDocument] = {}
        incomplete = is_first and bool(problems)
        for document, clashes in merge_groups(reads, self._limits):
            name = document.name
            if not clashes or name in self._documents:
                documents[name] = self._documents[name] if clashes else document
            # While a file is missing, the others need not be complete.
            problems += () if incomplete else clashes
        self._documents = documents
        texts = {str(paths[key]): file.data or b"" for key, file in self._files.items()}
        return documents, locate(problems, texts) if problems else problems

    def folders(self) -> set[str]:
        """Return the absolute paths of the directories in which these files can change."""
        folders = {str(file.parent) for file in self._files}
        for path in self.paths:
            folders.add(str(path.parent.absolute()))
            folders |= {folder for folder, _ in _walk(path.absolute())}
        return {folder for folder in folders if os.path.isdir(folder)}

    def concerns(self, path: str) -> bool:
        """Return True if a change of this path can change the scenarios. It may be a directory,
        also one that was deleted with files that were read from it."""
        file = Path(path)
        if file.suffix.lower() in self._suffixes or file.is_dir():
            return True
        folder = file.resolve()
        return file.name in {path.name for path in self.paths} or any(
            folder in file.parents for file in self._files
        )

    def _find(self) -> tuple[dict[Path, Path], list[Problem]]:
        """Return the files by their resolved paths, and why some cannot be listed."""
        files: dict[Path, Path] = {}
        problems: list[Problem] = []
        for path in self.paths:
            try:
                for file in _find_files(path, self._suffixes):
                    files.setdefault(file.resolve(), file)
                self._read_paths.add(path)
            except OSError as error:
                if path not in self._read_paths or path.exists():
                    problems.append(_unreadable_problem(path, error))
        return files, problems

    def _read_file(self, path: Path, last: _File) -> _File:
        """Return the file's new state; on an error, its last valid content with the problems."""
        data = last.data
        try:
            data = read_regular_file(path, max_bytes=self._limits.file_bytes)
            return last if data == last.data else self._parse(path, data)
        except DocumentError as error:
            return replace(last, data=data, problems=error.problems)
        except OSError as error:
            return replace(last, data=None, problems=[_unreadable_problem(path, error)])

    def _parse(self, path: Path, data: bytes) -> _File:
        """Return a file's documents or converter, or nothing, with a note, for other YAML. Raises
        DocumentError."""
        if self._others and (convert := self._others.find_converter(path, data)):
            return _File(data, convert=convert)
        source = str(path)
        if path in self.paths or path.name.endswith(SUFFIX):
            return _File(data, read_documents(_decode_file(path, data), source=source))
        if is_yaml(source) and has_scenario_keys(value := decode_text(data, source=source)):
            return _File(data, read_documents(value, source=source))
        self.notes.append(Problem("", f"passed over, {NOT_JSON}", source))
        return _File(data)


def find_ignored_files(
    paths: str | Iterable[str | Path], *, others: Collection[str] = ()
) -> list[Problem]:
    """Return a problem for each file in directories that looks like a document or recording but
    that `read_files` skips, except those with a suffix in `others`. Raises OSError."""
    folders = (Path(path).expanduser() for path in _split_paths(paths))
    return [
        Problem("", f"passed over, {NOT_JSON}", str(file))
        for folder in folders
        if folder.is_dir()
        for file in sorted(_iter_files(folder))
        if file.suffix != SUFFIX
        and file.suffix.lower() in {SUFFIX, *OTHER_FORMS} - {*YAML, *others}
    ]


def _split_paths(paths: str | Iterable[str | Path]) -> Iterable[str | Path]:
    """Return the parts of a string split at `os.pathsep`, without empty ones; others unchanged."""
    return filter(None, paths.split(os.pathsep)) if isinstance(paths, str) else paths


def _decode_file(file: Path, data: bytes) -> Json:
    """Return a file's JSON. Raises DocumentError, also for a Django fixture and other formats."""
    try:
        value = decode_text(data, source=str(file))
    except DocumentError:
        if file.suffix.lower() not in OTHER_FORMS - YAML:
            raise
        raise DocumentError("", NOT_JSON, str(file)) from None
    match value:
        case [{"model": str(), "fields": {}}, *_]:
            raise DocumentError("", IS_FIXTURE, str(file))
    return value


def _find_files(path: Path, suffixes: set[str]) -> list[Path]:
    """Return the file, or a directory's files with these suffixes, sorted. Raises OSError."""
    if path.is_dir():
        return sorted(
            file
            for file in _iter_files(path)
            if file.name.endswith(SUFFIX) or file.suffix.lower() in suffixes - {SUFFIX}
        )
    if not path.exists():
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT))
    if not path.is_file():
        raise OSError(EINVAL, "neither a file nor a directory")
    return [path]


def _iter_files(directory: Path) -> Iterator[Path]:
    """Yield the files in and below a directory without hidden ones. Raises OSError."""
    for folder, names in _walk(directory, onerror=_raise):
        for name in names:
            if not name.startswith("."):
                yield Path(folder, name)


def _walk(
    directory: Path, *, onerror: Callable[[OSError], None] | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Yield each directory in and below this one, except hidden ones, with its files' names."""
    for folder, folders, names in os.walk(directory, onerror=onerror):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield folder, names


def _raise(error: OSError) -> None:
    raise error


def _unreadable_problem(path: str | Path, error: OSError) -> Problem:
    return Problem("", f"cannot be read: {error.strerror}", str(path))
