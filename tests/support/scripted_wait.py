"""A scripted wait, and checks that a measured duration has the right unit."""

WAIT_MS = 150
# Clocks of two kinds may differ by a little over a wait.
MIN_MS = 120


def assert_milliseconds(duration: float) -> None:
    """Fail unless a duration in ms is near the wait; a loose upper bound detects a wrong unit."""
    assert MIN_MS <= duration < MIN_MS * 1_000


def assert_seconds(duration: float) -> None:
    assert_milliseconds(duration * 1_000)
