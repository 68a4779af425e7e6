"""Cassettes of tests: their paths, reading and atomic writing, and recording during a test."""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from scenarios_app.engine.document.regular_files import read_regular_file
from scenarios_app.testing.control import ServerFailed
from scenarios_app.testing.stubs import Mockllm
from scenarios_app.testing.variables import real_keys

MODES: Final = ("none", "once", "new", "all")
CASSETTE_FOLDER: Final = "cassettes"
_UNSAFE_CHARS: Final = re.compile(r"[^\w.,=+@\[\]-]+")
_MAX_NAME_CHARS: Final = 120
# File systems allow 255 bytes for a name, of which `.json` takes 5.
_MAX_NAME_BYTES: Final = 250


def default_cassette_path(file: Path, test: str) -> Path:
    """Return `cassettes/MODULE/TEST.json` beside a test's file; `test` is its id after the file."""
    name = _UNSAFE_CHARS.sub("_", test).strip("_")
    if name != test or len(name) > _MAX_NAME_CHARS or len(name.encode()) > _MAX_NAME_BYTES:
        # The hash separates tests whose cleaned names are equal.
        suffix = f"-{hashlib.sha256(test.encode()).hexdigest()[:8]}"
        start = name[:_MAX_NAME_CHARS].encode()[: _MAX_NAME_BYTES - len(suffix)]
        name = f"{start.decode(errors='ignore')}{suffix}"
    return file.parent / CASSETTE_FOLDER / file.stem / f"{name}.json"


def read_cassette(path: Path) -> dict[str, Any] | None:
    """Return the document of a file, or None if it is missing; ServerFailed if it is invalid."""
    try:
        document = json.loads(read_regular_file(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ServerFailed(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ServerFailed(f"{path}: is no cassette: {error}") from None
    if not isinstance(document, dict) or "steps" not in document:
        raise ServerFailed(f"{path}: is no cassette: expected one scenario document")
    document.setdefault("name", path.stem)
    return document


def write_cassette(path: Path, document: Mapping[str, Any]) -> None:
    """Replace a file atomically; raises ServerFailed."""
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    temporary = ""
    prefix = f".{path.stem[:60]}-"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder, since a rename must stay on one disk.
        handle, temporary = tempfile.mkstemp(".json", prefix, path.parent)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # The umask can only be read by setting it.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except OSError as error:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)
        raise ServerFailed(f"{path}: cannot be written: {error.strerror}") from None


def check_writable(path: Path) -> None:
    """Raise ServerFailed if a file cannot be written, before requests cost money."""
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise ServerFailed(f"{path}: cannot be written: {folder} is no folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ServerFailed(f"{path}: cannot be written: Permission denied")


def cassette_path(argument: Any, *, file: Path, node: str) -> Path:
    """Return the path of a test's cassette by the marker's argument. True stands for the default
    path; another path is relative to the test's file. Raises ServerFailed for any other value."""
    match argument:
        case True:
            return default_cassette_path(file, node.partition("::")[2] or node)
        case str() | os.PathLike():
            return file.parent / argument
        case _:
            raise ServerFailed(f"the marker's cassette is True or a path, not {argument!r}")


@dataclass
class TestCassette:
    """The cassette of one test; `label` is its name in messages."""

    # pytest would collect the class in a test module that imports it.
    __test__ = False

    session: Mockllm
    path: Path
    mode: str
    label: str
    _recording: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_recording(self) -> bool:
        """True unless the mode is `none`. `begin` replaces the mode `once` by `all` or `none`."""
        return self.mode != "none"

    def begin(self, environment: Mapping[str, str]) -> None:
        """Start to record or replay; real keys are read from the environment. Raises ServerFailed,
        also if there is no cassette to replay."""
        cassette = read_cassette(self.path)
        if self.mode == "once":
            self.mode = "all" if cassette is None else "none"
        if cassette is None and not self.is_recording:
            hint = "record one with --mockllm-record=once"
            raise ServerFailed(f"there is no cassette {self.label}: {hint}")
        if self.is_recording:
            check_writable(self.path)
        try:
            self.session.record(
                self.mode,
                name=cassette["name"] if cassette else f"{self.path.parent.name}/{self.path.stem}",
                cassette=None if self.mode == "all" else cassette,
                keys=real_keys(environment) if self.is_recording else {},
            )
        except ServerFailed as error:
            raise ServerFailed(f"{self.label}: {error}") from None

    def end(self) -> Mapping[str, Any]:
        """Stop recording or replaying; return the cassette's label and its drift for reports."""
        self._recording = self.session.end_recording()
        differences = {key: self._recording[key] for key in ("drift", "unreached")}
        return {"cassette": self.label, **differences}

    def save(self) -> list[str]:
        """Write the cassette if it was recorded, and return warnings. Raises ServerFailed."""
        if not self.is_recording:
            return []
        write_cassette(self.path, self._recording["document"])
        warnings = (*self._recording["problems"], *self._recording["notes"])
        return [f"{self.label}: {line}" for line in warnings]

    @property
    def drift_lines(self) -> list[str]:
        """Return lines that describe the requests that differ from the recorded ones."""
        lines = [line for drift in self._recording["drift"] for line in drift["text"].splitlines()]
        if not lines:
            return []
        renew = "--mockllm-record=all records it again, new adds to it"
        return [f"{self.label} differs from today's requests ({renew}):", *lines]
