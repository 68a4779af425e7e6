"""The mistakes in a document, and their error. Imported by wires, which need no pydantic."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a document. `place` is a location such as `steps[2].produce.pacing.jitter`,
    `source` the file's path. `line` and `column` count from 1; 0 if they are unknown."""

    place: str
    message: str
    source: str = ""
    line: int = 0
    column: int = 0

    @property
    def position(self) -> str:
        """The file, line and column as far as they are known, as compilers write them."""
        if not self.line:
            return self.source
        if not self.source:
            return f"line {self.line} column {self.column}"
        return f"{self.source}:{self.line}:{self.column}"

    def __str__(self) -> str:
        return ": ".join(part for part in (self.position, self.place, self.message) if part)


class DocumentError(Exception):
    """A document that cannot be used. `problems` holds all problems, by default one made of the
    other arguments; `place` and `message` are those of the first. As text it has one line for each.
    """

    def __init__(
        self, place: str, message: str, source: str = "", *, problems: Iterable[Problem] = ()
    ) -> None:
        self.problems = tuple(problems) or (Problem(place, message, source),)
        self.place = place
        self.message = message
        super().__init__(place, message)

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> "DocumentError":
        """Return the error with these problems; there must be at least one."""
        all_problems = tuple(problems)
        return cls(all_problems[0].place, all_problems[0].message, problems=all_problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))
