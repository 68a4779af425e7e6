"""Scenarios for the tests of clients: an answer, one with a fault, and one to parse."""

from typing import Any

import pydantic

from tests.serving.pipelines import scenario
from tests.support.live_server import Live

TEXT = "one two three four five"
# Kinds of fault that send nothing of the answer.
KINDS_WITHOUT_TEXT = (
    "timeout",
    "network_error",
    "invalid_response",
    "http",
    "rate_limit",
    "rate_limited",
    "overloaded",
    "model_error",
)


class City(pydantic.BaseModel):
    """A value that answers are parsed into."""

    name: str
    people: int


PARIS = City(name="Paris", people=2_100_000)
PARIS_TEXT = '{"name": "Paris", "people": 2100000}'


def load(live: Live, **produce: Any) -> None:
    """Load a scenario with one reusable step that produces this."""
    live.load(scenario("one", {"consume": False, "produce": produce}))


def load_fault(live: Live, kind: str, **fault: Any) -> None:
    """Load a scenario of five chunks of text with a fault after the second."""
    produce: dict[str, Any] = {"fault": {"kind": kind, **fault}}
    if kind not in KINDS_WITHOUT_TEXT:
        produce["fault"].setdefault("after_chunks", 2)
        produce |= {"text": TEXT, "pacing": {"words_per_chunk": 1}}
    load(live, **produce)
