"""Compares the output that a page shows with the actual output."""

import re
from typing import Any

_LEFT_OUT = re.compile(r"([\w-]*)…")


def agrees(wanted: str, got: str) -> bool:
    """True if the actual text matches the shown one. `…` matches anything, and a word that ends in
    it, such as `c5106bbf-…`, matches the same text everywhere."""
    pattern, known, end = "", list[str](), 0
    for found in _LEFT_OUT.finditer(wanted):
        pattern += re.escape(wanted[end : found.start()])
        word, end = found[1], found.end()
        if not word:
            pattern += ".*"
        elif word in known:
            pattern += f"(?P=_{known.index(word)})"
        else:
            pattern += rf"(?P<_{len(known)}>[\w-]+)"
            known.append(word)
    return bool(re.fullmatch(pattern + re.escape(wanted[end:]), got, re.DOTALL))


def holds(part: Any, whole: Any) -> bool:
    """True if JSON has these keys with these values; it may have others."""
    match part, whole:
        case dict(), dict():
            return all(key in whole and holds(value, whole[key]) for key, value in part.items())
        case list(), list():
            return len(part) == len(whole) and all(map(holds, part, whole))
        case _:
            return bool(part == whole)
