"""Decodes documents, JSON or YAML by the suffix of their source, and locates their problems."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePath
from typing import Final

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.json_text import decode
from scenarios_app.engine.shapes import DocumentError, Problem

YAML: Final = frozenset({".yaml", ".yml"})


def is_yaml(source: str) -> bool:
    """Return True if a file of this path is YAML."""
    return PurePath(source).suffix.lower() in YAML


def decode_text(data: bytes, *, source: str = "") -> Json:
    """Return the plain JSON of a document; the suffix of `source` tells YAML from JSON. Raises
    DocumentError."""
    if not is_yaml(source):
        return decode(data, source=source)
    # PyYAML is imported only if a file needs it.
    from scenarios_app.engine.document.yaml_text import decode_yaml

    return decode_yaml(data, source=source)


@contextmanager
def located(data: bytes, *, source: str = "") -> Iterator[None]:
    """Add line and column to the problems of a DocumentError that is raised inside."""
    try:
        yield
    except DocumentError as error:
        raise DocumentError.of(locate(error.problems, {source: data})) from None


def locate(problems: Iterable[Problem], texts: Mapping[str, bytes]) -> list[Problem]:
    """Return the problems with the lines and columns of their places; `texts` are bytes by source.

    A place that is not in the text, such as a missing key, gets the position of its container.
    """
    from scenarios_app.engine.document.yaml_text import find_positions

    positions: dict[str, Mapping[str, tuple[int, int]]] = {}
    located_problems: list[Problem] = []
    for problem in problems:
        source, place = problem.source, problem.place
        if place and not problem.line and source in texts:
            if source not in positions:
                positions[source] = find_positions(texts[source])
            while place and place not in positions[source]:
                place = place[: max(place.rfind("."), place.rfind("["), 0)]
            line, column = positions[source].get(place, (0, 0))
            problem = replace(problem, line=line, column=column)
        located_problems.append(problem)
    return located_problems
