"""A scenario that breaks, for every client of it."""

from typing import Any

from tests.live import Live
from tests.serving.pipelines import scenario

TEXT = "one two three four five"


def load(live: Live, kind: str, **fault: Any) -> None:
    """A scenario of five chunks of text, and a fault after two of them."""
    produce: dict[str, Any] = {"fault": {"kind": kind, **fault}}
    if kind not in ("timeout", "network_error", "invalid_response"):
        produce["fault"].setdefault("after_chunks", 2)
        produce |= {"text": TEXT, "pacing": {"words_per_chunk": 1}}
    live.load(scenario("one", {"consume": False, "produce": produce}))
