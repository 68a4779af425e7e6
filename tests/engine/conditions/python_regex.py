"""Translate RE2 patterns to Python's `re`, the second implementation to compare with.

RE2's classes and boundaries are ASCII only, but its case folding is not: `(?i)\\w` matches the
Kelvin sign, as `k` does. `re.ASCII` would narrow that too.
"""

import re

_CLASSES = {
    r"\w": "[A-Za-z0-9_]",
    r"\W": "[^A-Za-z0-9_]",
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\s": r"[\t\n\f\r ]",
    r"\S": r"[^\t\n\f\r ]",
    r"\b": r"(?a:\b)",
    r"\B": r"(?a:\B)",
    "$": r"\Z",
}


def matches_in_python(pattern: str, text: str, *, ignore_case: bool) -> bool:
    """Return whether RE2 should match the text; for patterns without classes in brackets."""
    ascii_pattern = re.sub(r"\\.|\$", lambda token: _CLASSES.get(token[0], token[0]), pattern)
    return re.search(ascii_pattern, text, re.IGNORECASE if ignore_case else re.NOFLAG) is not None
