"""Compares the output that a page shows with the actual output."""

import re
from typing import Any

_ELLIPSIS = re.compile(r"([\w-]*)…")


def matches_output(expected: str, actual: str) -> bool:
    """True if the actual text matches the shown one. `…` matches anything, and a word that ends in
    it, such as `c5106bbf-…`, matches the same text everywhere."""
    pattern, placeholders, end = "", list[str](), 0
    for match in _ELLIPSIS.finditer(expected):
        pattern += re.escape(expected[end : match.start()])
        word, end = match[1], match.end()
        if not word:
            pattern += ".*"
        elif word in placeholders:
            pattern += f"(?P=_{placeholders.index(word)})"
        else:
            pattern += rf"(?P<_{len(placeholders)}>[\w-]+)"
            placeholders.append(word)
    return bool(re.fullmatch(pattern + re.escape(expected[end:]), actual, re.DOTALL))


def contains_json(expected: Any, actual: Any) -> bool:
    """True if JSON has these keys with these values; it may have others."""
    match expected, actual:
        case dict(), dict():
            return all(
                key in actual and contains_json(value, actual[key])
                for key, value in expected.items()
            )
        case list(), list():
            return len(expected) == len(actual) and all(map(contains_json, expected, actual))
        case _:
            return bool(expected == actual)
