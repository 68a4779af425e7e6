"""Raw paths: what they hold in the variable places of a pattern, and what a client with a wrong
base URL meant by one that would be a provider's if it began otherwise."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from urllib.parse import unquote

import msgspec

from scenarios_app.wire.base import Call, Endpoint

# What may be missing at the beginning, the likeliest first.
_STARTS = ("/v1", "/v1beta", "/v1alpha", "/openai/v1", "/openai", "/api")
# What stands behind this is common words: elsewhere than right below the host, somebody else's.
_COMMON = "/api"
# A single word may end many a path; behind more segments than this it is not what a client added.
_MOST_BEFORE_A_WORD = 1
# No endpoint has more segments, but for names that hold slashes.
_MOST_SEGMENTS = 8


def match_path(pattern: str, path: str) -> dict[str, str] | None:
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


class Meant(msgspec.Struct, frozen=True):
    """Where a request was meant to go: to `path`. It begins with `base`, which the base URL should
    end in, or is whole without anything there. `lead` is what stands before it instead."""

    path: str
    base: str
    lead: str


class Endings:
    """The paths of some endpoints, whole and without their beginning, to be found at the end of
    others."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        # By method and first segment: what is missing before it, the likeliest first.
        self._of: defaultdict[tuple[str, str], set[tuple[int, str, str]]] = defaultdict(set)
        for endpoint in endpoints:
            pattern = endpoint.pattern
            for number, start in enumerate(_STARTS):
                if pattern.startswith(f"{start}/"):
                    rest = pattern.removeprefix(start)
                    self._of[endpoint.method, _first(rest)].add((number, start, pattern))
            self._of[endpoint.method, _first(pattern)].add((-1, "", pattern))

    def whole(self, method: str, path: str) -> Iterator[Meant]:
        """What a raw path below a provider's prefix may be meant to be: what stands behind another
        beginning, or is added to what is whole already. Other ends are of paths that the provider
        may have and we have not."""
        for meant in self.meant(method, path):
            if not meant.base or self._is_whole(method, meant.lead):
                yield meant

    def meant(self, method: str, path: str) -> Iterator[Meant]:
        """What a raw path may be meant to be, the likeliest first: a whole path behind something
        else, then the longest end of one."""
        tails = list(_tails(path.rstrip("/")))
        found = [meant for lead, tail in tails for meant in self._ending(method, lead, tail)]
        yield from (meant for meant in found if not meant.base)
        yield from (meant for meant in found if meant.base)

    def _is_whole(self, method: str, path: str) -> bool:
        return any(not meant.base for meant in self._ending(method, "", path))

    def _ending(self, method: str, lead: str, tail: str) -> Iterator[Meant]:
        for _, start, pattern in sorted(self._of.get((method, _first(tail)), ())):
            params = match_path(pattern, start + tail)
            if params is not None and not swallows(params) and _may_lead(lead, start, tail):
                yield Meant(start + tail, start, lead)


def swallows(params: Mapping[str, str]) -> bool:
    """Whether a part of a path was taken for an id that is none: no id holds a slash, though the
    name of a model may."""
    return any("/" in value for name, value in params.items() if name.endswith("_id"))


def _may_lead(lead: str, start: str, tail: str) -> bool:
    """Whether a path with a start that is missing may be meant where something else stands."""
    if not start or not lead:
        return True
    return start != _COMMON and (tail.count("/") > 1 or lead.count("/") <= _MOST_BEFORE_A_WORD)


def told(call: Call, meant: Meant) -> str:
    """The message of the 404."""
    unknown = f"Unknown request URL: {call.method} {call.path}."
    host = call.headers.get("host", "")
    origin = f"{call.scheme}://{host}" if host else ""
    right = f"{unknown} Did you mean {origin}{meant.path}?"
    if meant.base:
        return f"{right} Then the base URL is {origin}{meant.base}"
    return f"{right} Then leave {meant.lead} out of the base URL." if meant.lead else right


def _tails(path: str) -> Iterator[tuple[str, str]]:
    """A path cut in two before each of its last segments, the longest end first."""
    cuts = [place for place, letter in enumerate(path) if letter == "/"]
    return ((path[:cut], path[cut:]) for cut in cuts[-_MOST_SEGMENTS:])


def _first(path: str) -> str:
    return path.removeprefix("/").partition("/")[0]
