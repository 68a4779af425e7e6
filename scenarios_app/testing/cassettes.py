"""Cassettes: one test's from its beginning to its end, and as files: where a test's stands, how it
is read, and how it is written at once."""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from scenarios_app.testing.control import ServerFailed
from scenarios_app.testing.variables import real_keys
from scenarios_app.testing.words import Mockllm

Mode: TypeAlias = Literal["none", "once", "new", "all"]
MODES: Final[tuple[Mode, ...]] = ("none", "once", "new", "all")
FOLDER: Final = "cassettes"
_UNSAFE: Final = re.compile(r"[^\w.,=+@\[\]-]+")
# File systems take 255 bytes for a name.
_LONGEST: Final = 120


def path_of_test(file: Path, test: str) -> Path:
    """Where the cassette of a test stands: `cassettes/MODULE/TEST.json` beside its file. `test` is
    what its id says after the file."""
    name = _UNSAFE.sub("_", test).strip("_")
    if name != test or len(name) > _LONGEST:
        # Two tests whose names become one by that still have two cassettes.
        name = f"{name[:_LONGEST]}-{hashlib.sha256(test.encode()).hexdigest()[:8]}"
    return file.parent / FOLDER / file.stem / f"{name}.json"


def read_cassette(path: Path) -> dict[str, Any] | None:
    """The scenario document in a file, None where there is no file; raises ServerFailed for what is
    none."""
    try:
        document = json.loads(path.read_bytes())
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
    """Put a document in the place of what a file holds, all of it at once; raises ServerFailed."""
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    aside = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Beside it: what is renamed has to be on the same disk.
        handle, aside = tempfile.mkstemp(
            prefix=f".{path.stem[:60]}-", suffix=".json", dir=path.parent
        )
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(aside, 0o666 & ~_umask())
        os.replace(aside, path)
    except OSError as error:
        if aside:
            with suppress(OSError):
                os.unlink(aside)
        raise ServerFailed(f"{path}: cannot be written: {error.strerror}") from None


def check_writable(path: Path) -> None:
    """Raises ServerFailed where a file cannot be written, before anything is asked that costs."""
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise ServerFailed(f"{path}: cannot be written: {folder} is no folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ServerFailed(f"{path}: cannot be written: Permission denied")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def cassette_path(given: Any, *, file: Path, node: str) -> Path:
    """Where the cassette of a test stands by what its marker says: True is beside its file, and a
    path is from there. Raises ServerFailed for anything else."""
    match given:
        case True:
            return path_of_test(file, node.partition("::")[2] or node)
        case str() | os.PathLike():
            return file.parent / given
        case _:
            raise ServerFailed(f"the marker's cassette is True or a path, not {given!r}")


@dataclass
class Tape:
    """A cassette as a test uses it. `shown` is what people call it."""

    session: Mockllm
    path: Path
    mode: str
    shown: str
    _ended: Mapping[str, Any] = field(default_factory=dict)

    @property
    def records(self) -> bool:
        return self.mode != "none"

    def begin(self, environment: Mapping[str, str]) -> None:
        """Have the session recorded, or answered from what is recorded; the real keys are those of
        the environment. Raises ServerFailed."""
        cassette = read_cassette(self.path)
        if self.mode == "once":
            self.mode = "all" if cassette is None else "none"
        if cassette is None and not self.records:
            raise ServerFailed(
                f"there is no cassette {self.shown}: record one with --mockllm-record=once"
            )
        if self.records:
            check_writable(self.path)
        try:
            self.session.record(
                self.mode,
                name=cassette["name"] if cassette else self._name(),
                cassette=None if self.mode == "all" else cassette,
                keys=real_keys(environment) if self.records else {},
            )
        except ServerFailed as error:
            raise ServerFailed(f"{self.shown}: {error}") from None

    def end(self) -> Mapping[str, Any]:
        """End the recording; what of it stands in reports."""
        self._ended = self.session.end_recording()
        told = {key: self._ended[key] for key in ("drift", "unreached")}
        return {"cassette": self.shown, **told}

    def keep(self) -> list[str]:
        """Write what was recorded, if anything was to be; what to tell of it. Raises
        ServerFailed."""
        if not self.records:
            return []
        write_cassette(self.path, self._ended["document"])
        told = (*self._ended["problems"], *self._ended["notes"])
        return [f"{self.shown}: {line}" for line in told]

    @property
    def drift(self) -> list[str]:
        """What was not asked as it was recorded, in lines for people."""
        lines = [line for one in self._ended["drift"] for line in one["text"].splitlines()]
        if not lines:
            return []
        renew = "--mockllm-record=all records it anew, new adds to it"
        return [f"{self.shown} is not what is asked today ({renew}):", *lines]

    def _name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"
