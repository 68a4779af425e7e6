r"""RE2's patterns in the words of Python's `re`, the other implementation to compare with: RE2's
classes and boundaries are ASCII's, and yet ignoring case goes beyond it (`(?i)\w` takes the Kelvin
sign, as `k` does). `re.ASCII` alone would narrow that too.
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


def finds(pattern: str, text: str, *, ignore_case: bool) -> bool:
    """Whether RE2 should find it; for patterns without classes in brackets."""
    ascii_pattern = re.sub(r"\\.|\$", lambda token: _CLASSES.get(token[0], token[0]), pattern)
    return re.search(ascii_pattern, text, re.IGNORECASE if ignore_case else re.NOFLAG) is not None
