"""Hypothesis profiles: the suite runs a tenth of the examples, `make test-long` all of them.

The suite's examples are the same in each run, so that a commit passes or fails on every machine.
`make test-long` draws new ones; a failing one is stored and repeated first.
"""

from hypothesis import settings

# No deadline, since machines differ in speed.
COMMON = settings(deadline=None, print_blob=True)
settings.register_profile("suite", COMMON, max_examples=20, derandomize=True)
settings.register_profile("long", COMMON, max_examples=1_000, derandomize=False)
MIN_EXAMPLES = 10


def load() -> None:
    """Load the suite's profile; `--hypothesis-profile` on the command line overrides it."""
    settings.load_profile("suite")


def example_count(examples: int, *, share: int = 10) -> int:
    """Return the number of examples for one test: all in the long profile, else one in `share`."""
    if settings.get_current_profile_name() == "long":
        return examples
    return max(examples // share, MIN_EXAMPLES)
