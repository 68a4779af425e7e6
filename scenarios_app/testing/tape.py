"""One test's cassette, from the beginning of the test to its end."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scenarios_app.testing.cassettes import (
    check_writable,
    path_of_test,
    read_cassette,
    write_cassette,
)
from scenarios_app.testing.control import ServerFailed
from scenarios_app.testing.variables import real_keys
from scenarios_app.testing.words import Mockllm


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
