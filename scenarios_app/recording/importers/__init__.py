"""Importers of other tools' recordings, one module per format, and how a file's format is found."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from scenarios_app.engine.canonical import depth_of
from scenarios_app.engine.document.source_text import YAML
from scenarios_app.engine.shapes import DocumentError, Problem
from scenarios_app.engine.shapes.fields import clean_name
from scenarios_app.recording import Interaction
from scenarios_app.recording.document import Conversion, to_document
from scenarios_app.recording.importers import (
    aimock,
    har,
    jsonl,
    otlp,
    traces,
    vcr,
    websocket,
    wiremock,
)
from scenarios_app.recording.importers.reader import FileValue

MAX_DEPTH: Final = 100
MAX_FILE_BYTES: Final = 20_000_000
MAX_INTERACTIONS: Final = 5_000
LINES: Final = frozenset({".jsonl", ".ndjson"})
SUFFIXES: Final = YAML | LINES | {".har"}
"""Suffixes of files that can only be recordings."""


@dataclass(frozen=True, slots=True)
class Format:
    """A file format with its `title` for people. `recognizes` returns whether a decoded file has
    it. It is read as interactions, or as a document if it has conversations but no bytes."""

    title: str
    recognizes: Callable[[Any], bool]
    read_interactions: Callable[[FileValue], Iterable[Interaction | str]] | None = None
    read_document: Callable[[str, FileValue], Conversion] | None = None


FORMATS: Final[tuple[Format, ...]] = (
    Format("WebSocket", websocket.recognizes, read_interactions=websocket.read_interactions),
    Format("vcrpy", vcr.recognizes, read_interactions=vcr.read_interactions),
    Format("HAR", har.recognizes, read_interactions=har.read_interactions),
    Format("OTLP", otlp.recognizes, read_document=otlp.read_document),
    Format("trace", traces.recognizes, read_document=traces.read_document),
    Format("aimock", aimock.recognizes, read_document=aimock.read_document),
    Format("WireMock", wiremock.recognizes, read_document=wiremock.read_document),
    Format("JSONL", jsonl.recognizes, read_interactions=jsonl.read_interactions),
)


@dataclass(frozen=True, slots=True)
class Recording:
    """A file of a known format, decoded."""

    format: Format
    value: FileValue

    def convert(self, name: str) -> Conversion:
        """Return the scenario document under this name; raises DocumentError."""
        if self.format.read_document is not None:
            conversion = self.format.read_document(name, self.value)
            if conversion.steps > MAX_INTERACTIONS:
                raise self._too_many_error()
            return conversion
        notes: list[str] = []
        conversion = to_document(name, self._read_interactions(notes))
        return Conversion(conversion.document, (*notes, *conversion.notes))

    def interactions(self) -> list[Interaction]:
        """Return the interactions; none for a format without bytes. Raises DocumentError."""
        return self._read_interactions([])

    def _read_interactions(self, notes: list[str]) -> list[Interaction]:
        """Return the interactions, and append notes on entries that are left out to `notes`. Raises
        DocumentError if there are too many."""
        interactions: list[Interaction] = []
        read = self.format.read_interactions
        for entry in () if read is None else read(self.value):
            if isinstance(entry, str):
                notes.append(entry)
                continue
            interactions.append(entry)
            if len(interactions) > MAX_INTERACTIONS:
                raise self._too_many_error()
        return interactions

    def _too_many_error(self) -> DocumentError:
        return self.value.error(f"holds more than {MAX_INTERACTIONS} interactions")


def decode_recording(data: bytes, *, source: str) -> Recording | None:
    """Decode a file with the path or name `source`; return None if its format is unknown, and for a
    `.json` that is too large or no JSON. Raises DocumentError for any other file that cannot be
    read."""
    suffix = PurePath(source).suffix.lower()
    if len(data) > MAX_FILE_BYTES:
        if suffix == ".json":
            return None
        raise _file_error(source, f"is larger than {MAX_FILE_BYTES // 1_000_000} MB")
    value = _decode_file(data, suffix, source)
    form = next((each for each in FORMATS if each.recognizes(value)), None)
    return None if form is None else Recording(form, FileValue(value, source))


def scenario_name(source: str) -> str:
    """Return a printable name for the scenario of a file: that of the file without its suffix, at
    most 200 characters, or `recording`."""
    return clean_name(PurePath(source).stem) or "recording"


def unique_name(name: str, names: Iterable[str]) -> str:
    """Return the name, or if it is taken the name with the first free number."""
    used = set(names)
    number, candidate = 2, name
    while candidate in used:
        end = f"-{number}"
        candidate = name[: 200 - len(end)] + end
        number += 1
    return candidate


def _decode_file(data: bytes, suffix: str, source: str) -> Any:
    """Return the value of a file, None for a `.json` that is invalid; raises DocumentError."""
    if suffix in YAML:
        # PyYAML is imported only if a file needs it.
        from scenarios_app.engine.document.yaml_text import read_yaml

        return read_yaml(data, source=source)
    if suffix in LINES:
        return _decode_lines(data, source)
    try:
        value = json.loads(_decode_utf8(data, source), parse_constant=_reject_constant)
        return _check_depth(value, source)
    except RecursionError:
        raise _file_error(source, f"nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        if suffix == ".json":
            # It may be a scenario document, whose reader reports the error.
            return None
        raise _file_error(source, f"not valid JSON: {error}") from None


def _decode_utf8(data: bytes, source: str) -> str:
    """Decode UTF-8 with or without a byte order mark; raises DocumentError."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _file_error(source, f"expected UTF-8 text, byte {error.start + 1} is not") from None


def _decode_lines(data: bytes, source: str) -> list[Any]:
    """Return the value of each line of JSON that is not blank; raises DocumentError."""
    values: list[Any] = []
    for number, line in enumerate(_decode_utf8(data, source).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line, parse_constant=_reject_constant))
        except (ValueError, RecursionError):
            raise _file_error(source, f"line {number} is not valid JSON") from None
    return list(_check_depth(values, source))


def _check_depth(value: Any, source: str) -> Any:
    """Return the value; raises DocumentError if it is nested too deep."""
    if depth_of(value) > MAX_DEPTH:
        raise _file_error(source, f"nested deeper than {MAX_DEPTH} levels")
    return value


def _reject_constant(text: str) -> Any:
    """Raise ValueError, since `NaN` and `Infinity` are not JSON."""
    raise ValueError(f"{text} is not JSON")


def _file_error(source: str, message: str) -> DocumentError:
    return DocumentError.of([Problem("", message, source)])
