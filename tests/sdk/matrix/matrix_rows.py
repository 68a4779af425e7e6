"""What a row of the matrix is: what is scripted, what it means, and how it breaks off."""

from dataclasses import dataclass
from typing import Any

from tests.sdk.matrix.matrix_said import (
    Failure,
    Said,
    Text,
    Usage,
)
from tests.serving.pipelines import scenario

WORDS = "one two three four five"
MESSAGE, WAIT_MS = "Nein – not now.", 1_500


@dataclass(frozen=True)
class Broken:
    """How an answer ends that does not end as it should: what came before, and what was raised."""

    said: str = ""
    failure: Failure | None = None


@dataclass(frozen=True)
class Feature:
    """Something that is scripted. A user who says `said` gets it; `messages` is what it says.

    `alternatives`: the messages are choices, not one after another. `pieces` are a stream's texts
    one by one. `streamed` and `whole` are how it breaks off, if it does.
    """

    name: str
    messages: tuple[Said, ...] = ()
    produce: dict[str, Any] | None = None
    documents: tuple[dict[str, Any], ...] = ()
    said: str = ""
    history: tuple[tuple[str, str], ...] = ()
    alternatives: bool = True
    usage: Usage | None = None
    pieces: tuple[str, ...] | None = None
    streamed: Broken | None = None
    whole: Broken | None = None

    @property
    def text(self) -> str:
        """What the user says."""
        return self.said or f"the matrix asks for {self.name}"

    def loaded(self) -> list[dict[str, Any]]:
        """The scenarios that it needs."""
        if self.produce is None:
            return list(self.documents)
        return [answering(self.name, self.text, self.produce)]


def answering(name: str, said: str, produce: dict[str, Any], **match: Any) -> dict[str, Any]:
    match = {"messages": [{"role": "user", "equals": said}], **match}
    return scenario(name, {"match": match, "consume": False, "produce": produce})


def says(*texts: str, finish: str = "stop", stop: str | None = None) -> tuple[Said, ...]:
    return tuple(Said((Text(text),), finish, stop) for text in texts)
