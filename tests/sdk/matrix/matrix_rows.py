"""The rows of the matrix: a script, the messages that it means, and how the response breaks."""

from dataclasses import dataclass
from typing import Any

from tests.sdk.matrix.matrix_messages import (
    Failure,
    Message,
    Text,
    Usage,
)
from tests.serving.pipelines import scenario

WORDS = "one two three four five"
MESSAGE, WAIT_MS = "Nein – not now.", 1_500


@dataclass(frozen=True)
class BrokenResponse:
    """A response that breaks off: the text before that, and the failure that the client raises."""

    text: str = ""
    failure: Failure | None = None


@dataclass(frozen=True)
class Feature:
    """Something that can be scripted, with the messages expected for it.

    With `alternatives`, the messages are choices instead of a sequence. `pieces` are the text
    deltas of a stream. `broken_stream` and `broken_response` are set if the response breaks off.
    """

    name: str
    messages: tuple[Message, ...] = ()
    produce: dict[str, Any] | None = None
    documents: tuple[dict[str, Any], ...] = ()
    custom_prompt: str = ""
    history: tuple[tuple[str, str], ...] = ()
    alternatives: bool = True
    usage: Usage | None = None
    pieces: tuple[str, ...] | None = None
    broken_stream: BrokenResponse | None = None
    broken_response: BrokenResponse | None = None

    @property
    def prompt(self) -> str:
        """Return the user's text."""
        return self.custom_prompt or f"the matrix asks for {self.name}"

    def scenarios(self) -> list[dict[str, Any]]:
        """Return the scenarios that the feature needs."""
        if self.produce is None:
            return list(self.documents)
        return [response_scenario(self.name, self.prompt, self.produce)]


def response_scenario(
    name: str, prompt: str, produce: dict[str, Any], **match: Any
) -> dict[str, Any]:
    match = {"messages": [{"role": "user", "equals": prompt}], **match}
    return scenario(name, {"match": match, "consume": False, "produce": produce})


def text_messages(
    *texts: str, finish: str = "stop", stop: str | None = None
) -> tuple[Message, ...]:
    return tuple(Message((Text(text),), finish, stop) for text in texts)
