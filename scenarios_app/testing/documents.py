"""Scenarios in any form in which tests give them: documents, builders, paths of files."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from scenarios_app.engine.document import DocumentError, ScenarioDocument, dump
from scenarios_app.recording.files import read_paths
from scenarios_app.testing.control import ServerFailed


@runtime_checkable
class Builds(Protocol):
    """A builder, finished or not."""

    def build(self) -> Any: ...


Document: TypeAlias = ScenarioDocument | Builds | Mapping[str, Any]
# A file or a directory of documents.
Source: TypeAlias = Document | str | Path
SINGLE = (ScenarioDocument, Builds, Mapping, str, Path)


def documents_of(given: Source | Iterable[Source]) -> list[dict[str, Any]]:
    """The scenario documents of one source or several; raises ServerFailed for what is none."""
    several = [given] if isinstance(given, SINGLE) else given
    return [document for one in several for document in _documents(one)]


def steps_of(given: Document) -> Iterator[Any]:
    """The steps of a document, or the one step that it is."""
    if isinstance(given, Mapping) and "steps" not in given:
        yield dict(given)
    else:
        for document in _documents(given):
            yield from document["steps"]


def _documents(given: Source) -> Iterator[dict[str, Any]]:
    match given:
        case str() | Path():
            yield from map(dump, _read(given))
        case ScenarioDocument():
            yield dump(given)
        case {"scenarios": [*several]}:
            yield from several
        case Mapping():
            yield dict(given)
        case Builds():
            yield from _documents(given.build())
        case _:
            raise ServerFailed(f"expected a scenario or a path, got {given!r:.80}")


def _read(path: str | Path) -> list[ScenarioDocument]:
    try:
        files = read_paths([path])
    except DocumentError as error:
        raise ServerFailed(str(error)) from None
    for note in files.notes:
        warnings.warn(str(note), stacklevel=2)
    return files.documents
