"""Matches raw paths with endpoint patterns, and recognises paths sent with a wrong base URL."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from urllib.parse import unquote

import msgspec

from scenarios_app.wire.base import Call, Endpoint

# Prefixes that a wrong base URL may lack, the likeliest first.
_STARTS = ("/v1", "/v1beta", "/v1alpha", "/openai/v1", "/openai", "/api")
# Paths below this are common words: after another prefix they are probably not a provider's.
_COMMON_START = "/api"
# After more segments than this, a single word is not what a client appended to its base URL.
_MAX_SEGMENTS_BEFORE_WORD = 1
# No endpoint has more segments, apart from model names with slashes.
_MAX_SEGMENTS = 8


def match_path(pattern: str, path: str) -> dict[str, str] | None:
    """Return the decoded parameters of a raw path, or None if it does not match the pattern."""
    if "{" not in pattern:
        return {} if pattern == path else None
    match = _compile_pattern(pattern).fullmatch(path)
    return {k: unquote(v) for k, v in match.groupdict().items()} if match else None


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the regex of a path template, with a group for each `{name}`."""
    pieces = re.split(r"\{(\w+)\}", pattern)
    out = re.escape(pieces[0])
    for i in range(1, len(pieces), 2):
        value = "[^/]+" if pieces[i + 1].startswith("/") else ".*[^/]"
        # Some clients encode the colon before a verb.
        after = re.escape(pieces[i + 1]).replace(":", "(?::|%3[Aa])")
        out += f"(?P<{pieces[i]}>{value}){after}"
    return re.compile(out, re.DOTALL)


class IntendedPath(msgspec.Struct, frozen=True):
    """The path that a request with a wrong base URL was meant for.

    `base` is the prefix of `path` that the base URL lacks (empty if none), `lead` the prefix that
    the request has instead.
    """

    path: str
    base: str
    lead: str


class PathEndings:
    """Finds the paths of endpoints, complete or without their prefix, at the end of other paths."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        # By method and first segment: the rank of the missing prefix, the prefix, the pattern.
        self._patterns: defaultdict[tuple[str, str], set[tuple[int, str, str]]] = defaultdict(set)
        for endpoint in endpoints:
            method, pattern = endpoint.method, endpoint.pattern
            for number, start in enumerate(("", *_STARTS)):
                if pattern.startswith(f"{start}/"):
                    segment = _first_segment(pattern.removeprefix(start))
                    self._patterns[method, segment].add((number, start, pattern))

    def candidates_below_prefix(self, method: str, path: str) -> Iterator[IntendedPath]:
        """Yield the paths that a raw path below a provider's prefix may be meant for.

        These are complete paths after another prefix, or after a complete path. Any other ending
        may be a path that the provider has and this mock lacks.
        """
        for each in self.candidates(method, path):
            # An IntendedPath without a base is complete.
            if not each.base or not all(p.base for p in self._match_tail(method, "", each.lead)):
                yield each

    def candidates(self, method: str, path: str) -> Iterator[IntendedPath]:
        """Yield the paths that a raw path may be meant for, the likeliest first: complete paths
        after another prefix, then paths without their prefix, the longest first."""
        tails = list(_split_tails(path.rstrip("/")))
        matches = [each for lead, tail in tails for each in self._match_tail(method, lead, tail)]
        yield from (each for each in matches if not each.base)
        yield from (each for each in matches if each.base)

    def _match_tail(self, method: str, lead: str, tail: str) -> Iterator[IntendedPath]:
        """Yield the endpoints' paths that end with `tail` and may be intended after `lead`."""
        for _, start, pattern in sorted(self._patterns.get((method, _first_segment(tail)), ())):
            params = match_path(pattern, start + tail)
            if params is None or has_slash_in_id(params):
                continue
            if _is_possible_lead(lead, start, tail):
                yield IntendedPath(start + tail, start, lead)


def has_slash_in_id(params: Mapping[str, str]) -> bool:
    """Return whether a parameter that is an id contains a slash: only model names may."""
    return any("/" in value for name, value in params.items() if name.endswith("_id"))


def _is_possible_lead(lead: str, start: str, tail: str) -> bool:
    """Return whether a path that lacks `start` may be intended after the prefix `lead`."""
    if not start or not lead:
        return True
    return start != _COMMON_START and (
        tail.count("/") > 1 or lead.count("/") <= _MAX_SEGMENTS_BEFORE_WORD
    )


def unknown_url_message(call: Call) -> str:
    """Return the sentence with which the message of a 404 for an unknown URL begins."""
    return f"Unknown request URL: {call.method} {call.path}."


def wrong_base_message(call: Call, intended: IntendedPath) -> str:
    """Return the message of the 404 that names the right base URL."""
    host = call.headers.get("host", "")
    origin = f"{call.scheme}://{host}" if host else ""
    message = f"{unknown_url_message(call)} Did you mean {origin}{intended.path}?"
    if intended.base:
        message += f" Then the base URL is {origin}{intended.base}"
    elif intended.lead:
        message += f" Then leave {intended.lead} out of the base URL."
    return message


def _split_tails(path: str) -> Iterator[tuple[str, str]]:
    """Yield a path split before each of its last segments, the longest tail first."""
    slashes = [index for index, char in enumerate(path) if char == "/"]
    return ((path[:slash], path[slash:]) for slash in slashes[-_MAX_SEGMENTS:])


def _first_segment(path: str) -> str:
    return path.removeprefix("/").partition("/")[0]
