"""Patterns of paths: what a raw path holds in their variable places."""

import re
from collections.abc import Mapping
from functools import cache
from urllib.parse import unquote


def match_path(pattern: str, path: str) -> Mapping[str, str] | None:
    """The decoded parameters of a raw path under a pattern, None where it does not fit."""
    if "{" not in pattern:
        return {} if pattern == path else None
    found = _compiled(pattern).fullmatch(path)
    return {k: unquote(v) for k, v in found.groupdict().items()} if found else None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    pieces = re.split(r"\{(\w+)\}", pattern)
    out = re.escape(pieces[0])
    for i in range(1, len(pieces), 2):
        value = "[^/]+" if pieces[i + 1].startswith("/") else ".*[^/]"
        # Some clients encode the colon before a verb.
        after = re.escape(pieces[i + 1]).replace(":", "(?::|%3[Aa])")
        out += f"(?P<{pieces[i]}>{value}){after}"
    return re.compile(out, re.DOTALL)
