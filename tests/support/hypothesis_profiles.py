"""How often a property is tried: a tenth in each run of the suite, whole in `make test-long`.

Examples are drawn anew each time; one that fails is kept and tried first until it passes.
"""

from hypothesis import settings

# How long an example takes is this machine's matter, and no test's; and CI draws as others do.
COMMON = settings(deadline=None, derandomize=False, print_blob=True)
settings.register_profile("suite", COMMON, max_examples=20)
settings.register_profile("long", COMMON, max_examples=1_000)
LEAST = 10


def load() -> None:
    """Make the suite's profile the one that counts unless another is named on the command line."""
    settings.load_profile("suite")


def often(examples: int, *, share: int = 10) -> int:
    """A number of examples for a test that wants one of its own; one in `share` in the suite."""
    if settings.get_current_profile_name() == "long":
        return examples
    return max(examples // share, LEAST)
