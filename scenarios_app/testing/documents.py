"""Converts scenarios of tests to documents: documents, builders, paths of files."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from scenarios_app.engine.document import DocumentError, ScenarioDocument, dump
from scenarios_app.recording.files import read_paths
from scenarios_app.testing.process import ServerFailed


@runtime_checkable
class Builder(Protocol):
    """A scenario or step builder."""

    def build(self) -> Any: ...


Document: TypeAlias = ScenarioDocument | Builder | Mapping[str, Any]
# A file or a directory of documents.
Source: TypeAlias = Document | str | Path
SOURCE_TYPES = (ScenarioDocument, Builder, Mapping, str, Path)


def to_documents(sources: Source | Iterable[Source]) -> list[dict[str, Any]]:
    """Return the scenario documents of one or more sources. Raises ServerFailed for a file that
    cannot be read, and for a value that is no source; mappings are not checked."""
    all_sources = [sources] if isinstance(sources, SOURCE_TYPES) else sources
    return [document for source in all_sources for document in _read_source(source)]


def split_paths(sources: Source | Iterable[Source]) -> tuple[list[str], list[Source]]:
    """Return the paths among the sources, and the others."""
    all_sources = [sources] if isinstance(sources, SOURCE_TYPES) else list(sources)
    paths = [str(source) for source in all_sources if isinstance(source, str | Path)]
    return paths, [source for source in all_sources if not isinstance(source, str | Path)]


def to_steps(document: Document) -> Iterator[Any]:
    """Yield the steps of a scenario document; a step document is yielded itself."""
    if isinstance(document, Mapping) and "steps" not in document:
        yield dict(document)
    else:
        for scenario in _read_source(document):
            yield from scenario["steps"]


def _read_source(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the scenario documents of one source; raises ServerFailed if it is none."""
    match source:
        case str() | Path():
            yield from map(dump, _read_files(source))
        case ScenarioDocument():
            yield dump(source)
        case {"scenarios": [*scenarios]}:
            yield from scenarios
        case Mapping():
            yield dict(source)
        case Builder():
            yield from _read_source(source.build())
        case _:
            raise ServerFailed(f"expected a scenario or a path, got {source!r:.80}")


def _read_files(path: str | Path) -> list[ScenarioDocument]:
    """Return the documents of a path; its notes become warnings. Raises ServerFailed."""
    try:
        files = read_paths([path])
    except DocumentError as error:
        raise ServerFailed(str(error)) from None
    for note in files.notes:
        warnings.warn(str(note), stacklevel=2)
    return files.documents
