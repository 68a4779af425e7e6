"""Scenario documents from files and directories, as MOCKLLM_SCENARIOS names them."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from errno import EINVAL, ENOENT
from pathlib import Path
from typing import Protocol

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.checks import LIMITS, DocumentLimits
from scenarios_app.engine.document.json_text import decode
from scenarios_app.engine.document.load import Read, merged, read_documents
from scenarios_app.engine.document.scenario import ScenarioDocument
from scenarios_app.engine.shapes import DocumentError, Problem

SUFFIX = ".json"
# What people keep scripts and recordings in; a file like that beside documents is meant to be read.
OTHER_FORMS = {".har", ".json5", ".jsonc", ".jsonl", ".ndjson", ".toml", ".yaml", ".yml"}
TAKEN = f"scenario documents are JSON, in *{SUFFIX} files"
A_FIXTURE = "a fixture, no scenario document: load it with loaddata or serve --fixture"


class Others(Protocol):
    """What reads files that are no documents of ours, but can be made into some."""

    suffixes: Collection[str]
    """How such files are called in a directory."""

    def find_reader(
        self, file: Path, data: bytes
    ) -> "Callable[[Collection[str]], Read | None] | None":
        """What makes the document of a file, once the names are known that are taken; None for a
        file that is none of those. Raises DocumentError."""


def read_files(
    paths: str | Iterable[str | Path],
    *,
    limits: DocumentLimits = LIMITS,
    others: Others | None = None,
) -> list[ScenarioDocument]:
    """The scenarios of all files, merged by name in the order of the paths; `others` may read files
    that are none of ours.

    `paths` are files and directories, in a string separated by `os.pathsep`. A directory stands
    for the `*.json` files in and below it, sorted by path; hidden ones are passed over, and a
    file that is reached twice is read once. Raises `DocumentError`, whose problems name their
    files; nothing is loaded then.
    """
    reads: list[Read] = []
    problems: list[Problem] = []
    files: dict[Path, Path] = {}
    named: set[Path] = set()
    for path in _split(paths):
        try:
            found = list(_files(path, others))
            named |= {file.resolve() for file in found if not Path(path).expanduser().is_dir()}
            files |= {file.resolve(): file for file in found if file.resolve() not in files}
        except OSError as error:
            problems.append(_unread(path, error))
    made: list[Callable[[Collection[str]], Read | None]] = []
    for resolved, file in files.items():
        try:
            data = file.read_bytes()
            making = others.find_reader(file, data) if others else None
            if making is not None:
                made.append(making)
            elif file.name.endswith(SUFFIX) or resolved in named:
                reads += read_documents(_decoded(file, data), source=str(file))
        except DocumentError as error:
            problems += error.problems
        except OSError as error:
            problems.append(_unread(file, error))
    if problems:
        raise DocumentError.of(problems)
    for making in made:
        read = making({read.document.name for read in reads})
        reads += [read] if read is not None else []
    return merged(reads, limits)


def passed_over(
    paths: str | Iterable[str | Path], *, others: Collection[str] = ()
) -> list[Problem]:
    """What `read_files` leaves unread in directories though it looks like a document or a
    recording, file by file; not what has a suffix of `others`, who tell of that themselves. It is
    no error: a directory may hold other things too."""
    folders = (Path(path).expanduser() for path in _split(paths))
    return [
        Problem("", f"passed over, {TAKEN}", str(file))
        for folder in folders
        if folder.is_dir()
        for file in sorted(_below(folder))
        if file.suffix != SUFFIX and file.suffix.lower() in {SUFFIX, *OTHER_FORMS} - {*others}
    ]


def _split(paths: str | Iterable[str | Path]) -> Iterable[str | Path]:
    return filter(None, paths.split(os.pathsep)) if isinstance(paths, str) else paths


def _decoded(file: Path, data: bytes) -> Json:
    try:
        value = decode(data, source=str(file))
    except DocumentError:
        if file.suffix.lower() not in OTHER_FORMS:
            raise
        raise DocumentError.of([Problem("", TAKEN, str(file))]) from None
    match value:
        case [{"model": str(), "fields": {}}, *_]:
            raise DocumentError.of([Problem("", A_FIXTURE, str(file))])
    return value


def _files(given: str | Path, others: Others | None) -> list[Path]:
    path = Path(given).expanduser()
    suffixes = others.suffixes if others else ()
    if path.is_dir():
        return sorted(
            file
            for file in _below(path)
            if file.name.endswith(SUFFIX) or file.suffix.lower() in suffixes
        )
    if not path.exists():
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT))
    if not path.is_file():
        raise OSError(EINVAL, "neither a file nor a directory")
    return [path]


def _below(directory: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(directory, onerror=_raise):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith("."):
                yield Path(folder, name)


def _raise(error: OSError) -> None:
    raise error


def _unread(path: str | Path, error: OSError) -> Problem:
    return Problem("", f"cannot be read: {error.strerror}", str(path))
