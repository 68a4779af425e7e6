"""Scenario documents from files and directories, as MOCKLLM_SCENARIOS names them."""

import os
from collections.abc import Iterable, Iterator
from errno import EINVAL, ENOENT
from pathlib import Path

from scenarios_app.engine.document_checks import LIMITS, DocumentLimits
from scenarios_app.engine.document_errors import DocumentError, Problem
from scenarios_app.engine.document_json import decode
from scenarios_app.engine.document_loading import Read, merged, read_documents
from scenarios_app.engine.document_scenario import ScenarioDocument


def read_files(
    paths: str | Iterable[str | Path], *, limits: DocumentLimits = LIMITS
) -> list[ScenarioDocument]:
    """The scenarios of all files, merged by name in the order of the paths.

    `paths` are files and directories, in a string separated by `os.pathsep`. A directory stands
    for the `*.json` files in and below it, sorted by path; hidden ones are passed over, and a
    file that is reached twice is read once. Raises `DocumentError`, whose problems name their
    files; nothing is loaded then.
    """
    if isinstance(paths, str):
        paths = [path for path in paths.split(os.pathsep) if path]
    reads: list[Read] = []
    problems: list[Problem] = []
    files: dict[Path, Path] = {}
    for path in paths:
        try:
            files |= {file.resolve(): file for file in _files(path) if file.resolve() not in files}
        except OSError as error:
            problems.append(_unread(path, error))
    for file in files.values():
        try:
            reads += read_documents(decode(file.read_bytes(), source=str(file)), source=str(file))
        except DocumentError as error:
            problems += error.problems
        except OSError as error:
            problems.append(_unread(file, error))
    if problems:
        raise DocumentError.of(problems)
    return merged(reads, limits)


def _files(given: str | Path) -> list[Path]:
    path = Path(given).expanduser()
    if path.is_dir():
        return sorted(_below(path))
    if not path.exists():
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT))
    if not path.is_file():
        raise OSError(EINVAL, "neither a file nor a directory")
    return [path]


def _below(directory: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(directory, onerror=_raise):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if name.endswith(".json") and not name.startswith("."):
                yield Path(folder, name)


def _raise(error: OSError) -> None:
    raise error


def _unread(path: str | Path, error: OSError) -> Problem:
    return Problem("", f"cannot be read: {error.strerror}", str(path))
