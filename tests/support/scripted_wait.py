"""A wait that is scripted, and what may be told of it: a wrong unit is off by a thousand."""

WAIT_MS = 150
# Clocks of two kinds may differ by a little over a wait.
LEAST_MS = 120


def assert_milliseconds(told: float) -> None:
    """No bound above but the one that another unit oversteps: a machine may be busy for long."""
    assert LEAST_MS <= told < LEAST_MS * 1_000


def assert_seconds(told: float) -> None:
    assert_milliseconds(told * 1_000)
