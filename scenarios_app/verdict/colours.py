"""Colours of reports on a terminal."""

import os
import re
from collections.abc import Mapping
from typing import TextIO

RESET = "\033[0m"
RED, GREEN, YELLOW, DIM = "\033[31m", "\033[32m", "\033[33m", "\033[2m"
# The part of a line that shows how something went, and its colour.
_PARTS: Mapping[str, str] = {
    r"^(?:mockllm: )?FAILED\b": RED,
    r"^(?:mockllm: )?passed\b": GREEN,
    r"^(?:unmatched|violated|error):": RED,
    r"^(?:never served|never asked|warning):": YELLOW,
    r"^  near:.*": DIM,
    # The signs in the matrix of a fault sweep, and its failures; what mutants no test noticed.
    r"(?<=  )(?:SILENT|WRONG|HUNG|MULTI)(?!\S)": RED,
    r"(?<=  )(?:ok|loud)(?!\S)": GREEN,
    r"^\S+: (?:silent|wrong|hung|multiplied)$": RED,
    r"^.* stays? green when ": YELLOW,
}
_COLOURED = re.compile("|".join(f"({pattern})" for pattern in _PARTS), re.MULTILINE)


def has_colours(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Return True if a stream is a terminal with colours. The variables NO_COLOR and FORCE_COLOR,
    if not empty, decide alone."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environment.get("TERM", "") not in ("", "dumb")


def print_report(text: str, stream: TextIO) -> None:
    """Print a report, in colour if the stream has colours."""
    print(colour_report(text) if has_colours(stream) else text, file=stream)


def colour_report(text: str) -> str:
    """Return a report with its results in colour: red for failures, green for what is right."""
    colours = list(_PARTS.values())

    def paint(match: re.Match[str]) -> str:
        """Return the matched part in the colour of its pattern."""
        return f"{colours[(match.lastindex or 1) - 1]}{match.group()}{RESET}"

    return _COLOURED.sub(paint, text)
