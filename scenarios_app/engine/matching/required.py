"""The literals that every match of a pattern holds: steps with patterns are found by them."""

import re
from collections.abc import Iterator

# Shorter ones are in nearly every text.
_SHORTEST = 3
# One piece of a pattern at a time. A group is jumped over whole, and so is what is repeated.
_PIECE = re.compile(
    r"""
      (?P<nothing> \\[dDwWsSbBAzZ] | [.^$] | \[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\] )
    | (?P<optional> [*?] | \{\d*,?\d*\} )
    | (?P<again> \+ )
    | (?P<open> \((?:\?:|\?P?<\w+>|(?!\?)) )
    | (?P<close> \) )
    | (?P<other> \| )
    | (?P<unknown> \\\w | \(\? )
    | \\?(?P<literal> . )
    """,
    re.VERBOSE | re.DOTALL,
)


def required_literals(pattern: str, *, ignore_case: bool = False) -> tuple[str, ...]:
    """The literals that are in every text in which an RE2 pattern is found, as far as they can be
    seen; folded where case is ignored. A literal more than there is would lose a step, so what is
    not understood gives none."""
    runs = tuple(_runs(pattern))
    if "" in runs:
        return ()
    if ignore_case:
        # Of other letters RE2 and Python may think differently.
        runs = tuple(run.casefold() for run in runs if run.isascii())
    return tuple(dict.fromkeys(run for run in runs if len(run) >= _SHORTEST))


def _runs(pattern: str) -> Iterator[str]:
    """The runs of letters outside of groups; an empty one where nothing is certain."""
    run, depth = "", 0
    for piece in _PIECE.finditer(pattern):
        kind = piece.lastgroup
        if kind == "unknown" or (kind == "other" and not depth):
            yield ""
        depth += (kind == "open") - (kind == "close")
        if kind == "literal" and not depth:
            run += piece["literal"]
            continue
        if kind == "optional":
            run = run[:-1]
        if run:
            yield run
        run = ""
    if run:
        yield run
