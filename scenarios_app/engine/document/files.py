"""Loads scenario documents from the files and directories of MOCKLLM_SCENARIOS."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from errno import EINVAL, ENOENT
from pathlib import Path
from typing import Protocol

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.checks import LIMITS, DocumentLimits
from scenarios_app.engine.document.json_text import decode
from scenarios_app.engine.document.load import LoadedDocument, merge_by_name, read_documents
from scenarios_app.engine.document.scenario import ScenarioDocument
from scenarios_app.engine.shapes import DocumentError, Problem

SUFFIX = ".json"
# Formats of scripts and recordings: a file in one of them was probably meant to be loaded.
OTHER_FORMS = {".har", ".json5", ".jsonc", ".jsonl", ".ndjson", ".toml", ".yaml", ".yml"}
NOT_JSON = f"scenario documents are JSON, in *{SUFFIX} files"
IS_FIXTURE = "a fixture, no scenario document: load it with loaddata or serve --fixture"


class ForeignFormats(Protocol):
    """Converts files of other formats to documents."""

    suffixes: Collection[str]
    """Suffixes of such files in a directory."""

    def find_reader(
        self, file: Path, data: bytes
    ) -> "Callable[[Collection[str]], LoadedDocument | None] | None":
        """Return a function that converts a file once the used scenario names are known, or None if
        the file has another format. Raises DocumentError."""


def read_files(
    paths: str | Iterable[str | Path],
    *,
    limits: DocumentLimits = LIMITS,
    others: ForeignFormats | None = None,
) -> list[ScenarioDocument]:
    """Return the scenarios of all files, merged by name in the order of the paths; `others` may
    convert files of other formats.

    `paths` are files and directories; a string is split at `os.pathsep`. A directory stands for the
    `*.json` files in and below it, sorted by path, without hidden ones; a file is read once. Raises
    `DocumentError`, whose problems name their files; then nothing is loaded.
    """
    reads: list[LoadedDocument] = []
    problems: list[Problem] = []
    files: dict[Path, Path] = {}
    explicit_files: set[Path] = set()
    for path in _split_paths(paths):
        try:
            paths_found = list(_find_files(path, others))
            explicit_files |= {
                file.resolve() for file in paths_found if not Path(path).expanduser().is_dir()
            }
            files |= {file.resolve(): file for file in paths_found if file.resolve() not in files}
        except OSError as error:
            problems.append(_unreadable_problem(path, error))
    converters: list[Callable[[Collection[str]], LoadedDocument | None]] = []
    for resolved, file in files.items():
        try:
            data = file.read_bytes()
            convert = others.find_reader(file, data) if others else None
            if convert is not None:
                converters.append(convert)
            elif file.name.endswith(SUFFIX) or resolved in explicit_files:
                reads += read_documents(_decode_file(file, data), source=str(file))
        except DocumentError as error:
            problems += error.problems
        except OSError as error:
            problems.append(_unreadable_problem(file, error))
    if problems:
        raise DocumentError.of(problems)
    for convert in converters:
        read = convert({read.document.name for read in reads})
        reads += [read] if read is not None else []
    return merge_by_name(reads, limits)


def find_ignored_files(
    paths: str | Iterable[str | Path], *, others: Collection[str] = ()
) -> list[Problem]:
    """Return a problem for each file in directories that looks like a document or recording but
    that `read_files` skips; suffixes in `others` are left out. These are no errors, since a
    directory may hold other files too."""
    folders = (Path(path).expanduser() for path in _split_paths(paths))
    return [
        Problem("", f"passed over, {NOT_JSON}", str(file))
        for folder in folders
        if folder.is_dir()
        for file in sorted(_iter_files(folder))
        if file.suffix != SUFFIX and file.suffix.lower() in {SUFFIX, *OTHER_FORMS} - {*others}
    ]


def _split_paths(paths: str | Iterable[str | Path]) -> Iterable[str | Path]:
    return filter(None, paths.split(os.pathsep)) if isinstance(paths, str) else paths


def _decode_file(file: Path, data: bytes) -> Json:
    try:
        value = decode(data, source=str(file))
    except DocumentError:
        if file.suffix.lower() not in OTHER_FORMS:
            raise
        raise DocumentError.of([Problem("", NOT_JSON, str(file))]) from None
    match value:
        case [{"model": str(), "fields": {}}, *_]:
            raise DocumentError.of([Problem("", IS_FIXTURE, str(file))])
    return value


def _find_files(name: str | Path, others: ForeignFormats | None) -> list[Path]:
    path = Path(name).expanduser()
    suffixes = others.suffixes if others else ()
    if path.is_dir():
        return sorted(
            file
            for file in _iter_files(path)
            if file.name.endswith(SUFFIX) or file.suffix.lower() in suffixes
        )
    if not path.exists():
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT))
    if not path.is_file():
        raise OSError(EINVAL, "neither a file nor a directory")
    return [path]


def _iter_files(directory: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(directory, onerror=_raise):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith("."):
                yield Path(folder, name)


def _raise(error: OSError) -> None:
    raise error


def _unreadable_problem(path: str | Path, error: OSError) -> Problem:
    return Problem("", f"cannot be read: {error.strerror}", str(path))
