"""Recordings of other tools, read as interactions, one module a format: every format that is read,
and which of them a file is in."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import Any, Final, TypeAlias

from scenarios_app.engine.recorded.requests import depth_of
from scenarios_app.engine.shapes import DocumentError, Problem
from scenarios_app.recording import Interaction
from scenarios_app.recording.document import Conversion, to_document
from scenarios_app.recording.importers import aimock, har, jsonl, otlp, traces, vcr, wiremock

MAX_DEPTH: Final = 100
MAX_FILE_BYTES: Final = 20_000_000
MAX_INTERACTIONS: Final = 5_000
YAML: Final = frozenset({".yaml", ".yml"})
LINES: Final = frozenset({".jsonl", ".ndjson"})
SUFFIXES: Final = YAML | LINES | {".har"}
"""Suffixes of files that can only be recordings."""

Interactions: TypeAlias = Callable[..., Iterable[Interaction | str]]


@dataclass(frozen=True, slots=True)
class Format:
    """`title` is what people call it. A decoded file of it `holds` interactions, or is `read` as a
    document right away, where it tells conversations and not bytes."""

    title: str
    fits: Callable[[Any], bool]
    holds: Interactions | None = None
    read: Callable[..., Conversion] | None = None


FORMATS: Final[tuple[Format, ...]] = (
    Format("vcrpy", vcr.fits, holds=vcr.read),
    Format("HAR", har.fits, holds=har.read),
    Format("OTLP", otlp.fits, read=otlp.read),
    Format("trace", traces.fits, read=traces.read),
    Format("aimock", aimock.fits, read=aimock.read),
    Format("WireMock", wiremock.fits, read=wiremock.read),
    Format("JSONL", jsonl.fits, holds=jsonl.read),
)


@dataclass(frozen=True, slots=True)
class Recording:
    """A file of a known format, decoded."""

    format: Format
    value: Any
    source: str

    def convert(self, name: str) -> Conversion:
        """The scenario document of this name; raises DocumentError."""
        if self.format.read is not None:
            conversion = self.format.read(name, self.value, source=self.source)
            if conversion.steps > MAX_INTERACTIONS:
                raise self._too_many()
            return conversion
        document = to_document(name, self.interactions())
        notes = [one for one in self._held() if isinstance(one, str)]
        return Conversion(document.document, (*notes, *document.notes))

    def interactions(self) -> list[Interaction]:
        """What it holds, none where it tells no bytes; raises DocumentError."""
        held = (one for one in self._held() if isinstance(one, Interaction))
        limited = list(islice(held, MAX_INTERACTIONS + 1))
        if len(limited) > MAX_INTERACTIONS:
            raise self._too_many()
        return limited

    def _held(self) -> Iterator[Interaction | str]:
        holds = self.format.holds
        return iter(() if holds is None else holds(self.value, source=self.source))

    def _too_many(self) -> DocumentError:
        return _error(self.source, f"holds more than {MAX_INTERACTIONS} interactions")


def recording(data: bytes, *, source: str) -> Recording | None:
    """A file as a recording; None where it is none that is known. `source` is its path or name.

    Raises DocumentError for a file that cannot be read at all.
    """
    suffix = PurePath(source).suffix.lower()
    if len(data) > MAX_FILE_BYTES:
        if suffix == ".json":
            return None
        raise _error(source, f"is larger than {MAX_FILE_BYTES // 1_000_000} MB")
    value = _decoded(data, suffix, source)
    matching_format = next((form for form in FORMATS if form.fits(value)), None)
    return None if matching_format is None else Recording(matching_format, value, source)


def stem_of(source: str) -> str:
    """What a scenario is called that is made of this file."""
    stem = PurePath(source).stem
    bare = "".join(letter if letter.isprintable() else " " for letter in stem).strip()[:200].strip()
    return bare or "recording"


def unique(name: str, names: Iterable[str]) -> str:
    """The name, or where that is taken with the first number behind it that is free."""
    used = set(names)
    number, candidate = 2, name
    while candidate in used:
        end = f"-{number}"
        candidate = name[: 200 - len(end)] + end
        number += 1
    return candidate


def _decoded(data: bytes, suffix: str, source: str) -> Any:
    if suffix in YAML:
        # Its library is loaded where there is some.
        from scenarios_app.recording.importers.safe_yaml import read_yaml

        return read_yaml(data, source=source)
    if suffix in LINES:
        return _lines(data, source)
    try:
        return _plain(json.loads(_text(data, source), parse_constant=_refused), source)
    except RecursionError:
        raise _error(source, f"nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        if suffix == ".json":
            # What is wrong with it says who reads it as a document of ours.
            return None
        raise _error(source, f"not valid JSON: {error}") from None


def _text(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _error(source, f"expected UTF-8 text, byte {error.start + 1} is not") from None


def _lines(data: bytes, source: str) -> list[Any]:
    values: list[Any] = []
    for number, line in enumerate(_text(data, source).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line, parse_constant=_refused))
        except (ValueError, RecursionError):
            raise _error(source, f"line {number} is not valid JSON") from None
    return list(_plain(values, source))


def _plain(value: Any, source: str) -> Any:
    if depth_of(value) > MAX_DEPTH:
        raise _error(source, f"nested deeper than {MAX_DEPTH} levels")
    return value


def _refused(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _error(source: str, message: str) -> DocumentError:
    return DocumentError.of([Problem("", message, source)])
