"""What the clients' tests script: an answer, one that breaks, one that a client parses."""

from typing import Any

import pydantic

from tests.serving.pipelines import scenario
from tests.support.live_server import Live

TEXT = "one two three four five"
# Kinds of fault that leave nothing of the answer.
BARE = (
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
    """A scenario that answers so whenever it is asked."""
    live.load(scenario("one", {"consume": False, "produce": produce}))


def load_fault(live: Live, kind: str, **fault: Any) -> None:
    """A scenario of five chunks of text, and a fault after two of them."""
    produce: dict[str, Any] = {"fault": {"kind": kind, **fault}}
    if kind not in BARE:
        produce["fault"].setdefault("after_chunks", 2)
        produce |= {"text": TEXT, "pacing": {"words_per_chunk": 1}}
    load(live, **produce)
